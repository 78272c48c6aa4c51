#include "settings.hpp"

#include <array>

#include "command_line.hpp"
#include "profile/names.hpp"

namespace flameprobe::push {

const char* const usage =
    "Usage: flameprobe push --spool DIR --to URL [OPTIONS]\n"
    "       flameprobe push --spool DIR --status\n"
    "Sends the windows that programs under FLAMEPROBE_PUSH=DIR leave to a server, and deletes them once it has them.\n"
    "\n"
    "  flameprobe push --spool /var/spool/flameprobe --to http://pyroscope:4040 --protocol pyroscope\n"
    "  flameprobe push --spool DIR --to URL --once      send what is there, and end\n"
    "  flameprobe push --spool DIR --status             what was sent, dropped and refused, and what waits\n"
    "\n"
    "Server\n"
    "      --protocol NAME     pprof-http (default), pyroscope, otlp, parca\n"
    "      --tenant NAME       X-Scope-OrgID\n"
    "      --token-file FILE   a bearer token\n"
    "      --user-file FILE    NAME:PASSWORD for basic authentication\n"
    "      --ca FILE           certificates to trust instead of the system's\n"
    "      --cert FILE --key FILE  a client certificate\n"
    "      --timeout TIME      for one request (default 30s)\n"
    "      --max-request SIZE  of a profile in one request, uncompressed (default 4M, pyroscope 1900K): larger ones "
    "are\n"
    "                          sent in several\n"
    "\n"
    "Profiles\n"
    "      --label KEY=VALUE   of every profile; may be repeated\n"
    "      --pprof-threads     label samples with their thread's name, worker 3 as worker *\n"
    "      --gather TIME       how long windows gather to be merged (default 15s)\n"
    "\n"
    "Spool\n"
    "      --max-bytes SIZE    of the spool (default 256M): the oldest windows beyond it are dropped, and counted\n"
    "      --max-age TIME      likewise of windows older than this (default 1h)\n"
    "      --other-users       take profiles that other users wrote, too\n"
    "      --once              end when the spool is empty or a try failed\n"
    "      --status            what was sent, dropped and refused, and what waits\n"
    "\n"
    "Its own figures\n"
    "      --metrics PORT      answer Prometheus at http://127.0.0.1:PORT/metrics (0: a free port)\n"
    "      --metrics-to URL    send the same figures as OTLP metrics (default: with otlp beside the profiles, where "
    "the\n"
    "                          Collector takes metrics); off: none\n"
    "\n"
    "Exit status: 0 done, 1 not everything could be sent (--once), or the spool is unusable, 2 wrong usage.\n";

namespace {

using Text = std::string;

Problem size(const Text& text, std::uint64_t& into) {
    constexpr std::uint64_t kilo = 1024, mega = 1024 * kilo, giga = 1024 * mega, tera = 1024 * giga;
    const auto bytes = quantity_in(text, {{"K", kilo}, {"M", mega}, {"G", giga}, {"T", tera}, {"", 1}}, 1024 * tera);
    if (!bytes || *bytes == 0) return "'" + text + "' is not a size such as 64M or 2G";
    into = *bytes;
    return {};
}

Problem time(const Text& text, auto& into) {
    constexpr std::uint64_t minute = 60, hour = 60 * minute, day = 24 * hour;
    const auto seconds = quantity_in(text, {{"s", 1}, {"m", minute}, {"h", hour}, {"d", day}, {"", 1}}, 365 * day);
    if (!seconds || *seconds == 0) return "'" + text + "' is not a time such as 30s, 5m or 1h";
    into = std::chrono::seconds(*seconds);
    return {};
}

Problem protocol(Settings& into, const Text& name) {
    constexpr std::array<std::pair<std::string_view, Protocol>, 4> known = {{{"pprof-http", Protocol::pprof_http},
                                                                             {"pyroscope", Protocol::pyroscope},
                                                                             {"otlp", Protocol::otlp},
                                                                             {"parca", Protocol::parca}}};
    for (const auto& [known_name, value] : known) {
        if (known_name != name) continue;
        into.protocol = value;
        return {};
    }
    return "'" + name + "' is not pprof-http, pyroscope, otlp or parca";
}

Problem label(Settings& into, const Text& text) {
    const auto labels = parse_labels(text);
    if (!labels || labels->size() != 1) return "'" + text + "' is not KEY=VALUE with letters, digits and _ in KEY";
    into.labels.push_back(labels->front());
    return {};
}

CommandOption<Settings> text_option(const char* name, std::string Settings::*field) {
    return {name, required_argument, always([field](Settings& into, const Text& value) { into.*field = value; })};
}

CommandOption<Settings> flag(const char* name, bool Settings::*field, char letter = 0) {
    return {name, no_argument, always([field](Settings& into, const Text&) { into.*field = true; }), letter};
}

std::optional<std::string> url_problem(const Text& option, const Text& url) {
    if (!url.starts_with("http://") && !url.starts_with("https://"))
        return option + ": '" + url + "' is no http or https URL";
    if (url.find('@') < url.find('/', url.find("//") + 2))
        return option + ": a password in the URL would be seen by all users of this machine: use --user-file";
    return std::nullopt;
}

std::optional<std::string> choose_metrics_url(Settings& settings) {
    const Text path = "/v1/metrics";
    if (settings.metrics_to == "off") {
        settings.metrics_to.clear();
    } else if (!settings.metrics_to.empty()) {
        settings.metrics_to = with_path(settings.metrics_to, path);
        return url_problem("--metrics-to", settings.metrics_to);
    } else if (settings.protocol == Protocol::otlp) {
        Text base = settings.to;
        if (const auto at = base.rfind(otlp_path); at != base.npos) base.resize(at);
        settings.metrics_to = with_path(base, path);
        settings.metrics_to_is_guessed = true;
    }
    return std::nullopt;
}

std::vector<CommandOption<Settings>> known_options() {
    constexpr int value = required_argument;
    return {
        text_option("spool", &Settings::spool),
        text_option("to", &Settings::to),
        {"protocol", value, protocol},
        {"label", value, label},
        {"pprof-threads", no_argument,
         always([](Settings& into, const Text&) { into.threads = ThreadLabels::folded; })},
        text_option("tenant", &Settings::tenant),
        text_option("token-file", &Settings::token_file),
        text_option("user-file", &Settings::user_file),
        text_option("ca", &Settings::ca_file),
        text_option("cert", &Settings::certificate_file),
        text_option("key", &Settings::key_file),
        {"max-bytes", value, [](Settings& into, const Text& text) { return size(text, into.most_bytes); }},
        {"max-age", value, [](Settings& into, const Text& text) { return time(text, into.most_age); }},
        {"max-request", value, [](Settings& into, const Text& text) { return size(text, into.most_request_bytes); }},
        {"metrics", value,
         [](Settings& into, const Text& text) { return put_number<std::uint16_t>(text, into.metrics_port); }},
        text_option("metrics-to", &Settings::metrics_to),
        {"gather", value, [](Settings& into, const Text& text) { return time(text, into.gather); }},
        {"timeout", value, [](Settings& into, const Text& text) { return time(text, into.timeout); }},
        flag("other-users", &Settings::other_users),
        flag("once", &Settings::once),
        flag("status", &Settings::status),
        flag("help", &Settings::help, 'h'),
    };
}

}  // namespace

std::string with_path(std::string url, const std::string& path) {
    while (url.ends_with('/')) url.pop_back();
    return url.ends_with(path) ? url : url + path;
}

Result<Settings> parse(int argc, char* argv[]) {
    Settings settings;
    const auto options = known_options();
    const auto first = take_options<Settings>(argc, argv, options, settings);
    if (!first) return first.error();
    if (settings.help) return settings;
    if (*first != argc) return Error{"'" + std::string(argv[*first]) + "' is no option"};
    if (settings.spool.empty()) return Error{"--spool DIR is missing"};
    if (settings.status) return settings;
    if (settings.to.empty()) return Error{"--to URL is missing"};
    if (auto problem = url_problem("--to", settings.to)) return Error{*problem};
    if (auto problem = choose_metrics_url(settings)) return Error{*problem};
    if (settings.key_file.empty() != settings.certificate_file.empty()) return Error{"--cert and --key go together"};
    // Pyroscope's burst is 2 MB: a larger profile would always be answered with 429.
    if (settings.most_request_bytes == 0)
        settings.most_request_bytes = std::uint64_t{settings.protocol == Protocol::pyroscope ? 1900u : 4096u} << 10;
    return settings;
}

}  // namespace flameprobe::push
