#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "../commands.hpp"
#include "changes.hpp"
#include "command_line.hpp"
#include "cut_away.hpp"
#include "export/output_file.hpp"
#include "forms.hpp"
#include "measurement.hpp"
#include "profiles.hpp"
#include "render/text.hpp"
#include "revision.hpp"
#include "tables.hpp"

namespace flameprobe {

namespace {

using namespace compare;

constexpr const char* compare_usage =
    "Usage: flameprobe compare [OPTIONS] OLD NEW\n"
    "       flameprobe compare [OPTIONS] --before A1 A2 ... --after B1 B2 ...\n"
    "       flameprobe compare [OPTIONS] --by VARIABLE RESULTS\n"
    "Says what changed beyond noise. OLD and NEW are profiles (.fprobe, .folded; a directory of them, or several with\n"
    "commas between, are repeated runs, whose spread tells what is noise), or results of flameprobe\n"
    "bench: directories, archives of one (.tar, .tar.gz, .tar.xz, .tar.zst), or git revisions in the store.\n"
    "\n"
    "  flameprobe compare old.fprobe new.fprobe                       what changed, and how sure that is\n"
    "  flameprobe compare results/old results/new --fail-above 3%     in CI: exit status 3 if it became slower\n"
    "  flameprobe compare --by threads results/today                  two values of a bench's variable\n"
    "\n"
    "Judgement\n"
    "      --fail-above P    exit status 3 if something became worse by more than this, beyond noise: throughput,\n"
    "                        CPU time or bytes per unit of work, or those of a function. In percent of what it was: "
    "3%\n"
    "      --fdr P           at most this share of what is found may be false (default 5%)\n"
    "      --min-share P     leave out functions with less of the CPU time than this on both sides (default 0.5%)\n"
    "\n"
    "Output\n"
    "  -o, --out FILE        also write FILE: .md, .html or .json by its ending; may be given again\n"
    "      --long-names      functions with template arguments and parameters\n"
    "\n"
    "Of two benches\n"
    "      --by VARIABLE     of one bench, compare the two values of a variable that sweeps; the first is the old\n"
    "                        one. Its runs took turns, so disturbances by the machine cancel out\n"
    "      --store DIR       where results of revisions are, in DATE-COMMIT directories (default results)\n"
    "\n"
    "Of two profiles\n"
    "      --per WHAT        what is compared: share, second, run, or a unit of work that was counted\n"
    "      --process RE      only the processes whose program's name has a match\n"
    "      --pid N           only this process\n"
    "      --event NAME      this event: alloc, heap, heap-end, offcpu, ... (default: the first)\n";

struct CompareRequest {
    std::vector<std::string> inputs, outputs;
    std::string store = "results", variable;
    std::optional<double> fail_above;  // as a share
    JudgeOptions options;
    ProfilesRequest profiles;
    bool long_names = false, help = false;
};

/// "3%", "3" and "0.5 %" as a share.
template <class Field>
auto as_share(Field field) {
    return [field](CompareRequest& into, const std::string& given) -> Problem {
        std::string text = given;
        if (text.ends_with('%')) text.pop_back();
        while (text.ends_with(' ')) text.pop_back();
        const auto value = number_in<double>(text);
        if (!value || !std::isfinite(*value) || *value < 0) return "'" + given + "' has to be a percentage, as in 3%";
        field(into) = *value / 100;
        return {};
    };
}

std::string share_text(double share) { return short_decimal(100 * share, 2) + " %"; }

Problem put_output(CompareRequest& into, const std::string& path) {
    into.outputs.push_back(path);
    const bool known = path.ends_with(".md") || path.ends_with(".html") || path.ends_with(".json");
    return known ? "" : "'" + path + "' has to end in .md, .html or .json";
}

Problem put_process(CompareRequest& into, const std::string& expression) {
    into.profiles.process = expression;
    const auto good = check_expression(expression);
    return good ? "" : good.error().message;
}

std::vector<CommandOption<CompareRequest>> compare_options() {
    using Request = CompareRequest;
    using Value = const std::string&;
    constexpr int none = no_argument, value = required_argument;
    return {
        {"fail-above", value, as_share([](Request & r) -> auto& { return r.fail_above; })},
        {"out", value, put_output, 'o'},
        {"store", value, always([](Request& r, Value v) { r.store = v; })},
        {"by", value, always([](Request& r, Value v) { r.variable = v; })},
        {"fdr", value, as_share([](Request & r) -> auto& { return r.options.rate; })},
        {"min-share", value, as_share([](Request & r) -> auto& { return r.options.least_share; })},
        {"long-names", none, always([](Request& r, Value) { r.long_names = true; })},
        {"process", value, put_process},
        {"pid", value, [](Request& r, Value v) { return put_number<std::uint32_t>(v, r.profiles.pid); }},
        {"event", value, always([](Request& r, Value v) { r.profiles.event = v; })},
        {"per", value, always([](Request& r, Value v) { r.profiles.per = v; })},
        {"help", none, always([](Request& r, Value) { r.help = true; }), 'h'},
    };
}

/// `--before A1 A2 --after B1 B2` as the two operands "A1,A2" and "B1,B2", behind the other words.
std::vector<std::string> without_groups(int argc, char* argv[]) {
    std::vector<std::string> words, sides(2);
    std::string* into = nullptr;
    for (int at = 0; at < argc; ++at) {
        const std::string word = argv[at];
        if (word == "--before" || word == "--after") {
            into = &sides[word == "--after" ? 1 : 0];
        } else if (into != nullptr && !word.starts_with('-')) {
            *into += (into->empty() ? "" : ",") + word;
        } else {
            into = nullptr;
            words.push_back(word);
        }
    }
    for (std::string& side : sides)
        if (!side.empty()) words.push_back(std::move(side));
    return words;
}

Result<CompareRequest> parse_compare(int argc, char* argv[]) {
    CompareRequest request;
    std::vector<std::string> words = without_groups(argc, argv);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int count = static_cast<int>(words.size());
    const auto first = take_options<CompareRequest>(count, pointers.data(), compare_options(), request);
    if (!first) return first.error();
    request.inputs.assign(pointers.begin() + *first, pointers.begin() + count);
    request.options.taking_turns = !request.variable.empty();
    if (std::max(request.options.rate, request.options.least_share) > 1)
        return Error{"--fdr and --min-share are percentages from 0 to 100"};
    if (!request.help && request.inputs.size() != (request.options.taking_turns ? 1 : 2))
        return Error{request.options.taking_turns
                         ? "--by compares two values within one directory of flameprobe bench: name it alone"
                         : "name two directories of flameprobe bench, or two profiles: OLD NEW"};
    return request;
}

Result<Measurement> read_side(const std::string& name, const CompareRequest& request) {
    const auto path = find_side(name, request.store);
    if (!path) return path.error();
    const ProfilesRequest& profiles = request.profiles;
    if (!profiles.process.empty() || profiles.pid || !profiles.event.empty() || !profiles.per.empty())
        return Error{*path +
                     ": a bench's report is not divided by process or event: --process, --pid, --event and --per are "
                     "for profiles"};
    return is_archive(*path) ? read_archive(*path) : read_measurement(*path);
}

struct Named {
    std::string before, after;
};

Named names_of(const CompareRequest& request, const TwoSides& sides) {
    if (!request.variable.empty()) return {sides.before.path, sides.after.path};
    return {request.inputs[0], request.inputs[1]};
}

Result<TwoSides> read_sides(const CompareRequest& request) {
    auto before = read_side(request.inputs[0], request);
    if (!before) return before.error();
    if (!request.variable.empty()) return two_values(*before, request.variable);
    auto after = read_side(request.inputs[1], request);
    if (!after) return after.error();
    return TwoSides{std::move(*before), std::move(*after)};
}

ProfilesRequest of_profiles(const CompareRequest& request) {
    ProfilesRequest profiles = request.profiles;
    profiles.before = request.inputs[0];
    profiles.after = request.inputs[1];
    profiles.outputs = request.outputs;
    profiles.fail_above = request.fail_above;
    profiles.least_share = request.options.least_share;
    profiles.long_names = request.long_names;
    return profiles;
}

Result<void> write_form(const std::string& path, const Judgement& judgement, const bench::Document& document,
                        const Named& names) {
    if (path.ends_with(".json")) return write_file(path, judgement_json(judgement, names.before, names.after));
    return write_file(
        path, path.ends_with(".md") ? bench::to_markdown(document) : bench::to_html(document, "FlameProbe compare"));
}

}  // namespace

int compare_command(int argc, char* argv[]) {
    const auto request = parse_compare(argc, argv);
    if (!request) return complain_of_usage("compare", request.error().message);
    if (request->help) return std::fputs(compare_usage, stdout) < 0 ? 1 : 0;
    if (request->variable.empty() && is_of_profiles(request->inputs[0]) != is_of_profiles(request->inputs[1]))
        return complain(1, request->inputs[0] + " and " + request->inputs[1] +
                               ": one is a profile and one a bench; compare like with like");
    if (request->variable.empty() && is_of_profiles(request->inputs[0])) return compare_profiles(of_profiles(*request));
    const auto sides = read_sides(*request);
    if (!sides) return complain(1, sides.error().message);
    const auto judgement = judge(sides->before, sides->after, request->options);
    if (!judgement) return complain(1, judgement.error().message);
    const Named names = names_of(*request, *sides);
    const bench::Document document = document_of(*judgement, names.before, names.after, request->long_names);
    for (const std::string& path : request->outputs) {
        if (auto written = write_form(path, *judgement, document, names); !written)
            return complain(1, written.error().message);
    }
    if (!print_text(stdout, bench::to_text(document, terminal_columns())))
        return complain(1, "standard output cannot be written");
    if (request->fail_above && judgement->worst() > *request->fail_above)
        return complain(3, "worse by " + share_text(judgement->worst()) + ", and --fail-above allows " +
                               share_text(*request->fail_above));
    return 0;
}

}  // namespace flameprobe
