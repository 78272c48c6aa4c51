#include <getopt.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "../commands.hpp"
#include "archive.hpp"
#include "changes.hpp"
#include "export/output_file.hpp"
#include "forms.hpp"
#include "render/numbers.hpp"
#include "revision.hpp"

namespace flameprobe {

namespace {

using namespace compare;

constexpr const char* usage =
    "Usage: flameprobe compare [OPTIONS] OLD NEW\n"
    "Says what changed beyond noise. OLD and NEW are results of flameprobe bench: directories, archives of one (.tar,\n"
    ".tar.gz, .tar.xz, .tar.zst), or git revisions whose results are in the store; or two profiles (.fprobe, "
    ".folded).\n"
    "\n"
    "      --fail-above P    exit status 3 if throughput, CPU time per unit of work or that of a function became worse "
    "by\n"
    "                        more than this, beyond noise; in percent of what it was: 3%\n"
    "  -o, --out FILE        also write FILE: .md, .html or .json by its ending; may be given again\n"
    "      --store DIR       where results of revisions are, in DATE-COMMIT directories (default results)\n"
    "      --fdr P           at most this share of what is found may be false (default 5%)\n"
    "      --min-share P     leave out functions with less of the CPU time than this on both sides (default 0.5%)\n";

struct Request {
    std::vector<std::string> inputs, outputs;
    std::string store = "results";
    std::optional<double> fail_above;  // as a share
    JudgeOptions options;
    bool help = false;
};

int complain(int status, const std::string& message) {
    std::fprintf(stderr, "flameprobe: %s\n", message.c_str());
    return status;
}

/// "3%", "3" and "0.5 %" in percent.
Result<double> percent(const std::string& option, std::string text) {
    const std::string given = text;
    if (text.ends_with('%')) text.pop_back();
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    while (*end == ' ') ++end;
    if (end == text.c_str() || *end != '\0' || !std::isfinite(value) || value < 0)
        return Error{option + " " + given + ": has to be a percentage, as in 3%"};
    return value / 100;
}

std::string share_text(double share) { return short_decimal(100 * share, 2) + " %"; }

bool has_known_ending(const std::string& path) {
    return path.ends_with(".md") || path.ends_with(".html") || path.ends_with(".json");
}

Result<Request> parse(int argc, char* argv[]) {
    enum : int { store = 's', fail_above = 256, rate, least };
    constexpr option options[] = {{"fail-above", required_argument, nullptr, fail_above},
                                  {"out", required_argument, nullptr, 'o'},
                                  {"store", required_argument, nullptr, store},
                                  {"fdr", required_argument, nullptr, rate},
                                  {"min-share", required_argument, nullptr, least},
                                  {"help", no_argument, nullptr, 'h'},
                                  {nullptr, 0, nullptr, 0}};
    Request request;
    optind = 0;
    for (int letter; (letter = getopt_long(argc, argv, "o:h", options, nullptr)) != -1;) {
        if (letter == '?') return Error{"bad option"};
        if (letter == 'h') request.help = true;
        if (letter == store) request.store = optarg;
        if (letter == 'o') {
            request.outputs.emplace_back(optarg);
            if (!has_known_ending(optarg))
                return Error{std::string("-o ") + optarg + ": has to end in .md, .html or .json"};
        }
        if (letter < 256) continue;
        const auto value = percent(letter == fail_above ? "--fail-above"
                                   : letter == rate     ? "--fdr"
                                                        : "--min-share",
                                   optarg);
        if (!value) return value.error();
        if (letter == fail_above) request.fail_above = *value;
        if (letter == rate) request.options.rate = *value;
        if (letter == least) request.options.least_share = *value;
    }
    for (int i = optind; i < argc; ++i) request.inputs.emplace_back(argv[i]);
    if (!request.help && request.inputs.size() != 2)
        return Error{"name two directories of flameprobe bench, or two profiles: OLD NEW"};
    return request;
}

Result<void> write(const std::string& path, const std::string& text) {
    OutputFile file(path);
    if (!file.failed()) file.write(text);
    return file.commit();
}

Result<Measurement> read_side(const std::string& name, const std::string& store) {
    const auto path = find_side(name, store);
    if (!path) return path.error();
    return is_archive(*path) ? read_archive(*path) : read_measurement(*path);
}

Result<void> write_form(const std::string& path, const Judgement& judgement, const bench::Document& document,
                        const Request& request) {
    if (path.ends_with(".json")) return write(path, judgement_json(judgement, request.inputs[0], request.inputs[1]));
    return write(path,
                 path.ends_with(".md") ? bench::to_markdown(document) : bench::to_html(document, "FlameProbe compare"));
}

}  // namespace

int compare_command(int argc, char* argv[]) {
    const auto request = parse(argc, argv);
    if (!request) {
        complain(2, request.error().message);
        return complain(2, "Try 'flameprobe compare --help'.");
    }
    if (request->help) return std::fputs(usage, stdout) < 0 ? 1 : 0;
    const auto before = read_side(request->inputs[0], request->store);
    if (!before) return complain(1, before.error().message);
    const auto after = read_side(request->inputs[1], request->store);
    if (!after) return complain(1, after.error().message);
    const auto judgement = judge(*before, *after, request->options);
    if (!judgement) return complain(1, judgement.error().message);
    const bench::Document document = document_of(*judgement, request->inputs[0], request->inputs[1]);
    for (const std::string& path : request->outputs) {
        if (auto written = write_form(path, *judgement, document, *request); !written)
            return complain(1, written.error().message);
    }
    if (std::fputs(bench::to_text(document).c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        return complain(1, "standard output cannot be written");
    if (request->fail_above && judgement->worst() > *request->fail_above)
        return complain(3, "worse by " + share_text(judgement->worst()) + ", and --fail-above allows " +
                               share_text(*request->fail_above));
    return 0;
}

}  // namespace flameprobe
