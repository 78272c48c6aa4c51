#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "../commands.hpp"
#include "bench_sides.hpp"
#include "command_line.hpp"
#include "export/output_file.hpp"
#include "forms.hpp"
#include "measurement.hpp"
#include "profiles.hpp"
#include "render/text.hpp"
#include "revision.hpp"
#include "selection.hpp"

namespace flameprobe {

namespace {

using namespace compare;

constexpr const char* compare_usage =
    "Usage: flameprobe compare [OPTIONS] OLD NEW\n"
    "       flameprobe compare [OPTIONS] --before A1 A2 ... --after B1 B2 ...\n"
    "       flameprobe compare --from T --to T | --thread A --thread B | ... RUN.fprobe\n"
    "       flameprobe compare [OPTIONS] --by VARIABLE RESULTS\n"
    "Says what changed beyond noise, as flameprobe-render --diff does. OLD and NEW are profiles (.fprobe, .folded; a\n"
    "directory of them, or several with commas between, are repeated runs, whose spread tells what is noise), or\n"
    "results of flameprobe bench: directories, archives of one (.tar, .tar.gz, .tar.xz, .tar.zst), or git revisions\n"
    "in the store.\n"
    "\n"
    "  flameprobe compare old.fprobe new.fprobe                       what changed, and how sure that is\n"
    "  flameprobe compare results/old results/new --fail-above 3%     in CI: exit status 3 if it became slower\n"
    "  flameprobe compare run.fprobe --from 10s --to 20s              a run with itself\n"
    "\n"
    "Judgement\n"
    "      --fail-above P    exit status 3 if a function grew by more than P percent of the whole, beyond noise, or\n"
    "                        throughput fell by more: 3%\n"
    "      --per WHAT        what is compared: share, second, run, or a unit of work that was counted\n"
    "      --event NAME      this event: alloc, heap, heap-end, offcpu, ... (default: the first; of benches all)\n"
    "\n"
    "Output\n"
    "  -o, --out FILE        also write FILE: .md, .html or .json by its ending; may be given again\n"
    "      --long-names      functions with template arguments and parameters\n"
    "      --min-share P     in the .json: leave out functions with less than this on both sides (default 0.5%)\n"
    "\n"
    "Of profiles: which samples. Of one profile they are compared with the rest; an option that stands twice is for\n"
    "one side each\n"
    "      --from T, --to T  from T on, before T, after the run's start: 1.5s, 200ms, 2m\n"
    "      --thread NAME     --pid PID     --process RE     --scope LABEL\n"
    "      --idle            with offcpu and wall: also the waits of threads that never woke\n"
    "\n"
    "Of two benches\n"
    "      --by VARIABLE     of one bench, compare the two values of a variable that sweeps; the first is the old\n"
    "                        one. Its runs took turns\n"
    "      --store DIR       where results of revisions are, in DATE-COMMIT directories (default results)\n";

struct CompareRequest {
    std::vector<std::string> inputs, outputs;
    std::string store = "results", variable;
    Arguments profiles;
    FormOptions forms;
    bool help = false;
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

Problem put_output(CompareRequest& into, const std::string& path) {
    into.outputs.push_back(path);
    const bool known = path.ends_with(".md") || path.ends_with(".html") || path.ends_with(".json");
    return known ? "" : "'" + path + "' has to end in .md, .html or .json";
}

std::vector<CommandOption<CompareRequest>> compare_options() {
    using Request = CompareRequest;
    using Value = const std::string&;
    constexpr int none = no_argument, value = required_argument;
    std::vector<CommandOption<Request>> options = {
        {"fail-above", value, as_share([](Request & r) -> auto& { return r.forms.fail_above; })},
        {"out", value, put_output, 'o'},
        {"store", value, always([](Request& r, Value v) { r.store = v; })},
        {"by", value, always([](Request& r, Value v) { r.variable = v; })},
        {"min-share", value, as_share([](Request & r) -> auto& { return r.forms.least_share; })},
        {"long-names", none, always([](Request& r, Value) { r.forms.long_names = true; })},
        {"help", none, always([](Request& r, Value) { r.help = true; }), 'h'},
    };
    for (CommandOption<Arguments>& option : selection_options())
        options.push_back({option.name, option.argument,
                           [take = option.take](Request& r, Value v) { return take(r.profiles, v); }, option.letter});
    return options;
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
    request.profiles.inputs = request.inputs;
    request.profiles.diff = true;
    if (request.help) return request;
    if (request.forms.least_share > 1) return Error{"--min-share is a percentage from 0 to 100"};
    if (!request.variable.empty()) {
        if (request.inputs.size() != 1)
            return Error{"--by compares two values within one directory of flameprobe bench: name it alone"};
    } else if (request.inputs.empty() || request.inputs.size() > 2) {
        return Error{"name two directories of flameprobe bench, or two profiles: OLD NEW"};
    } else if (const std::string why = refused_sides(request.profiles); !why.empty()) {
        return Error{why};
    }
    return request;
}

Result<Measurement> read_side(const std::string& name, const CompareRequest& request) {
    const auto path = find_side(name, request.store);
    if (!path) return path.error();
    return is_archive(*path) ? read_archive(*path) : read_measurement(*path);
}

Result<TwoSides> read_sides(const CompareRequest& request) {
    auto before = read_side(request.inputs[0], request);
    if (!before) return before.error();
    if (!request.variable.empty()) return two_values(*before, request.variable);
    auto after = read_side(request.inputs[1], request);
    if (!after) return after.error();
    return TwoSides{std::move(*before), std::move(*after)};
}

/// Whether options choose samples (--from, --thread, ...). A report of flameprobe bench has none to choose from.
bool chooses_samples(Arguments arguments) {
    arguments.inputs = {"report.json", "report.json"};
    return !selection_words(arguments).empty() || arguments.filter.idle;
}

Result<std::vector<Compared>> compare_inputs(CompareRequest& request) {
    const auto& inputs = request.inputs;
    const bool by = !request.variable.empty(), profiles = !by && is_of_profiles(inputs.front());
    if (!by && is_of_profiles(inputs.back()) != profiles)
        return Error{inputs.front() + " and " + inputs.back() +
                     ": one is a profile and one a bench; compare like with like"};
    std::vector<Compared> all;
    if (profiles) {
        auto one = compare_profiles(request.profiles);
        if (!one) return one.error();
        all.push_back(std::move(*one));
        return all;
    }
    if (chooses_samples(request.profiles) || inputs.size() + (by ? 1 : 0) != 2)
        return Error{inputs.front() +
                     ": a bench's report is not divided by time, thread or process: such options are for profiles"};
    const auto sides = read_sides(request);
    if (!sides) return sides.error();
    const compare::BenchRequest of_bench{
        request.profiles.per, request.profiles.filter.event,
        by ? DiffNames{sides->before.path, sides->after.path} : DiffNames{inputs.front(), inputs.back()}};
    return compare_benches(sides->before, sides->after, of_bench, request.forms.remarks);
}

}  // namespace

int compare_command(int argc, char* argv[]) {
    auto request = parse_compare(argc, argv);
    if (!request) return complain_of_usage("compare", request.error().message);
    if (request->help) return std::fputs(compare_usage, stdout) < 0 ? 1 : 0;
    auto compared = compare_inputs(*request);
    if (!compared) return complain(1, compared.error().message);
    const ComparedText text = text_of(*compared, request->forms);
    for (const std::string& path : request->outputs) {
        if (auto written = write_form(path, *compared, text.text, request->forms); !written)
            return complain(1, written.error().message);
    }
    if (!print_text(stdout, text.text)) return complain(1, "standard output cannot be written");
    if (text.grown == 0) return 0;
    return complain(3, std::to_string(text.grown) + (text.grown == 1 ? " change" : " changes") +
                           " above --fail-above: see the lines that begin with \"above\"");
}

}  // namespace flameprobe
