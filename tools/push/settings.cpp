#include "push/settings.hpp"

#include <getopt.h>

#include <array>
#include <charconv>
#include <optional>

#include "profile/labels.hpp"

namespace flameprobe::push {

const char* const usage =
    "Usage: flameprobe push --spool DIR --to URL [OPTIONS]\n"
    "       flameprobe push --spool DIR --status\n"
    "Sends the windows that programs under FLAMEPROBE_PUSH=DIR leave to an engine, and deletes them once it has them.\n"
    "\n"
    "      --protocol NAME     pprof-http (default), pyroscope, otlp, parca\n"
    "      --label KEY=VALUE   of every profile; may be repeated\n"
    "      --pprof-threads     label samples with their thread's name, worker 3 as worker *\n"
    "      --tenant NAME       X-Scope-OrgID\n"
    "      --token-file FILE   a bearer token\n"
    "      --user-file FILE    NAME:PASSWORD for basic authentication\n"
    "      --ca FILE           certificates to trust instead of the system's\n"
    "      --cert FILE --key FILE  a client certificate\n"
    "      --max-bytes SIZE    of the spool (default 256M): the oldest windows beyond it are dropped, and counted\n"
    "      --max-age TIME      likewise of windows older than this (default 1h)\n"
    "      --max-request SIZE  of a profile in one request, uncompressed (default 4M, pyroscope 1900K): larger ones "
    "are\n"
    "                          sent in several\n"
    "      --timeout TIME      for one request (default 30s)\n"
    "      --metrics PORT      answer Prometheus at http://127.0.0.1:PORT/metrics (0: a free port)\n"
    "      --gather TIME       how long windows gather to be merged (default 15s)\n"
    "      --other-users       take profiles that other users wrote, too\n"
    "      --once              end when the spool is empty or a try failed\n"
    "      --status            what was sent, dropped and refused, and what waits\n"
    "\n"
    "Exit status: 0 done, 1 not everything could be sent (--once), or the spool is unusable, 2 wrong usage.\n";

namespace {

enum Option : int {
    spool = 256,
    to,
    protocol,
    label,
    threads,
    tenant,
    token_file,
    user_file,
    ca,
    certificate,
    key,
    max_bytes,
    max_age,
    max_request,
    metrics,
    gather,
    timeout,
    other_users,
    once,
    status,
};

constexpr std::array options = {
    option{"spool", required_argument, nullptr, Option::spool},
    option{"to", required_argument, nullptr, Option::to},
    option{"protocol", required_argument, nullptr, Option::protocol},
    option{"label", required_argument, nullptr, Option::label},
    option{"pprof-threads", no_argument, nullptr, Option::threads},
    option{"tenant", required_argument, nullptr, Option::tenant},
    option{"token-file", required_argument, nullptr, Option::token_file},
    option{"user-file", required_argument, nullptr, Option::user_file},
    option{"ca", required_argument, nullptr, Option::ca},
    option{"cert", required_argument, nullptr, Option::certificate},
    option{"key", required_argument, nullptr, Option::key},
    option{"max-bytes", required_argument, nullptr, Option::max_bytes},
    option{"max-age", required_argument, nullptr, Option::max_age},
    option{"max-request", required_argument, nullptr, Option::max_request},
    option{"metrics", required_argument, nullptr, Option::metrics},
    option{"gather", required_argument, nullptr, Option::gather},
    option{"timeout", required_argument, nullptr, Option::timeout},
    option{"other-users", no_argument, nullptr, Option::other_users},
    option{"once", no_argument, nullptr, Option::once},
    option{"status", no_argument, nullptr, Option::status},
    option{"help", no_argument, nullptr, 'h'},
    option{nullptr, 0, nullptr, 0},
};

/// "64M" with the units given as {letter, factor}; none is a factor of 1.
std::optional<std::uint64_t> with_unit(std::string_view text, std::string_view letters,
                                       const std::array<std::uint64_t, 4>& factors) {
    std::uint64_t value = 0, factor = 1;
    if (!text.empty()) {
        if (const auto unit = letters.find(text.back()); unit != letters.npos) {
            factor = factors[unit];
            text.remove_suffix(1);
        }
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value == 0 ||
        value > (std::uint64_t{1} << 50) / factor)
        return std::nullopt;
    return value * factor;
}

std::optional<std::chrono::seconds> time_of(std::string_view text) {
    const auto seconds = with_unit(text, "smhd", {1, 60, 3600, 86400});
    if (!seconds || *seconds > 86400 * 365) return std::nullopt;
    return std::chrono::seconds(*seconds);
}

std::optional<Protocol> protocol_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Protocol>, 4> known = {{{"pprof-http", Protocol::pprof_http},
                                                                             {"pyroscope", Protocol::pyroscope},
                                                                             {"otlp", Protocol::otlp},
                                                                             {"parca", Protocol::parca}}};
    for (const auto& [known_name, value] : known)
        if (known_name == name) return value;
    return std::nullopt;
}

std::optional<Error> take(int chosen, const std::string& value, Settings& settings) {
    const auto bad = [&](const char* name, const char* accepted) {
        return Error{std::string(name) + ": '" + value + "' is not " + accepted};
    };
    switch (chosen) {
        case Option::spool:
            settings.spool = value;
            break;
        case Option::to:
            settings.to = value;
            break;
        case Option::protocol: {
            const auto known = protocol_of(value);
            if (!known) return bad("--protocol", "pprof-http, pyroscope, otlp or parca");
            settings.protocol = *known;
            break;
        }
        case Option::label: {
            const auto labels = parse_labels(value);
            if (!labels || labels->size() != 1) return bad("--label", "KEY=VALUE with letters, digits and _ in KEY");
            settings.labels.push_back(labels->front());
            break;
        }
        case Option::threads:
            settings.threads = ThreadLabels::folded;
            break;
        case Option::tenant:
            settings.tenant = value;
            break;
        case Option::token_file:
            settings.token_file = value;
            break;
        case Option::user_file:
            settings.user_file = value;
            break;
        case Option::ca:
            settings.ca_file = value;
            break;
        case Option::certificate:
            settings.certificate_file = value;
            break;
        case Option::key:
            settings.key_file = value;
            break;
        case Option::max_bytes:
        case Option::max_request: {
            const bool spool = chosen == Option::max_bytes;
            const auto size = with_unit(value, "KMGT", {1ull << 10, 1ull << 20, 1ull << 30, 1ull << 40});
            if (!size) return bad(spool ? "--max-bytes" : "--max-request", "a size such as 64M or 2G");
            (spool ? settings.most_bytes : settings.most_request_bytes) = *size;
            break;
        }
        case Option::metrics: {
            std::uint16_t port = 0;
            const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), port);
            if (error != std::errc{} || end != value.data() + value.size()) return bad("--metrics", "a port");
            settings.metrics_port = port;
            break;
        }
        case Option::max_age:
        case Option::gather:
        case Option::timeout: {
            const bool age = chosen == Option::max_age, gather = chosen == Option::gather;
            const auto time = time_of(value);
            if (!time)
                return bad(age ? "--max-age" : gather ? "--gather" : "--timeout", "a time such as 30s, 5m or 1h");
            if (age)
                settings.most_age = *time;
            else
                (gather ? settings.gather : settings.timeout) = *time;
            break;
        }
        case Option::other_users:
            settings.other_users = true;
            break;
        case Option::once:
            settings.once = true;
            break;
        case Option::status:
            settings.status = true;
            break;
        case 'h':
            settings.help = true;
            break;
        default:
            return Error{""};  // getopt has said why
    }
    return std::nullopt;
}

}  // namespace

Result<Settings> parse(int argc, char* argv[]) {
    Settings settings;
    optind = 0;
    for (int chosen; (chosen = getopt_long(argc, argv, "h", options.data(), nullptr)) != -1;)
        if (auto error = take(chosen, optarg != nullptr ? optarg : "", settings)) return *error;
    if (settings.help) return settings;
    if (optind != argc) return Error{"'" + std::string(argv[optind]) + "' is no option"};
    if (settings.spool.empty()) return Error{"--spool DIR is missing"};
    if (settings.status) return settings;
    if (!settings.to.starts_with("http://") && !settings.to.starts_with("https://"))
        return Error{settings.to.empty() ? "--to URL is missing"
                                         : "--to: '" + settings.to + "' is no http or https URL"};
    if (settings.to.find('@') < settings.to.find('/', settings.to.find("//") + 2))
        return Error{"--to: a password in the URL would be seen by all users of this machine: use --user-file"};
    if (settings.key_file.empty() != settings.certificate_file.empty()) return Error{"--cert and --key go together"};
    // Pyroscope's burst is 2 MB: a profile over it is answered with 429 for ever.
    if (settings.most_request_bytes == 0)
        settings.most_request_bytes = std::uint64_t{settings.protocol == Protocol::pyroscope ? 1900u : 4096u} << 10;
    return settings;
}

}  // namespace flameprobe::push
