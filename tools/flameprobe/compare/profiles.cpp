#include "profiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "../commands.hpp"
#include "diff_answer.hpp"
#include "diff_load.hpp"
#include "diff_pictures.hpp"
#include "export/output_file.hpp"
#include "export/text.hpp"
#include "inputs.hpp"
#include "render/function_totals.hpp"
#include "render/text.hpp"
#include "revision.hpp"
#include "tables.hpp"

namespace flameprobe::compare {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Compared {
    ProfileDiff diff;
    DiffNames names;
};

Result<Compared> load(const ProfilesRequest& request) {
    Progress progress;
    Arguments arguments;
    arguments.process = request.process;
    arguments.filter.pid = request.pid;
    arguments.filter.event = request.event;
    Compared made;
    std::vector<DiffSide> sides;
    for (const auto& [text, name] :
         {std::pair(&request.before, &made.names.before), std::pair(&request.after, &made.names.after)}) {
        const auto inputs = side_inputs(*text);
        if (!inputs) return inputs.error();
        *name = side_name(*inputs);
        auto side = load_diff_side(*inputs, arguments, progress);
        progress.clear();
        if (!side) return side.error();
        for (const std::string& warning : side->profile.warnings) complain(0, warning);
        if ((!request.process.empty() || request.pid) && total_weight(side->profile) == 0)
            return Error{*name + ": has no samples of the chosen processes"};
        sides.push_back(std::move(*side));
    }
    auto diff = diff_sides(std::move(sides[0]), std::move(sides[1]), request.per);
    if (!diff) return diff.error();
    made.diff = std::move(*diff);
    return made;
}

std::string what_of(const ProfileDiff& diff) {
    const std::string of = diff.of.substr(diff.of.starts_with("the ") ? 4 : 0);
    if (!diff.unit.empty()) return of + " a " + diff.unit;
    return diff.by_amount ? of : "shares of " + of;
}

Json change_json(const ProfileDiff& diff, const std::string& kind, const std::string& name,
                 const flameprobe::Change& change) {
    // Amounts are weights for each unit of work, or what is alive.
    const double scale = diff.by_amount ? static_cast<double>(change.before().of) / diff.units : 1;
    const double before = change.before().value(), difference = change.difference(), half = change.half();
    return {{"kind", kind},
            {"name", name},
            {"before", before * scale},
            {"after", change.after().value() * scale},
            {"difference", difference * scale},
            {"difference_low", std::max(difference - half, std::min(-before, difference)) * scale},
            {"difference_high", (difference + half) * scale},
            {"change", before == 0 ? Json(nullptr) : Json(difference / before)},
            {"p", change.p()},
            {"beyond_noise", !change.is_noise()}};
}

std::string json_of(const Compared& compared, const DiffAnswer& answer, const ProfilesRequest& request) {
    const ProfileDiff& diff = compared.diff;
    Json findings = Json::array(), changes = Json::array();
    for (const Finding& finding : answer.findings) {
        Json one = change_json(diff, "stacks", finding.name, finding.change);
        one["where"] = finding.where;
        one["in_words"] = finding.amount;
        findings.push_back(std::move(one));
    }
    std::vector<FunctionChange> all = function_changes(diff);
    std::erase_if(all, [&](const FunctionChange& one) {
        return std::max(one.self.before().value(), one.self.after().value()) < request.least_share;
    });
    std::ranges::stable_sort(all, std::ranges::greater(),
                             [](const FunctionChange& one) { return std::abs(one.self.difference()); });
    for (const FunctionChange& one : all)
        changes.push_back(change_json(diff, "function", display_name(diff.profile, one.function), one.self));
    const Json json = {{"format", "flameprobe-compare"},
                       {"format_version", 2},
                       {"before", compared.names.before},
                       {"after", compared.names.after},
                       {"of", what_of(diff)},
                       {"answer", answer.sentence},
                       {"nothing_else_above", answer.rest},
                       {"not_seen_below", answer.seen},
                       {"findings", findings},
                       {"changes", changes},
                       {"remarks", answer.doubts}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Of at most 20 lines, for a pull request.
std::string markdown_of(const Compared& compared, const DiffAnswer& answer) {
    constexpr std::size_t most = 8;
    const auto cell = [](const std::string& text) {
        std::string out;
        for (const char letter : text) out += letter == '|' ? std::string("\\|") : std::string(1, letter);
        return out;
    };
    std::string out = "**" + answer.sentence + "**\n\n";
    if (!answer.findings.empty()) out += "| change (95 %) | before | after | function | in |\n|--:|--:|--:|---|---|\n";
    const std::size_t shown = std::min(most, answer.findings.size());
    for (std::size_t at = 0; at < shown; ++at) {
        const Finding& one = answer.findings[at];
        out += "| " + one.amount + " | " + one.before + " | " + one.after + " | `" + cell(one.name) + "` | " +
               (one.where.empty() ? "" : "`" + cell(one.where) + "`") + " |\n";
    }
    if (shown < answer.findings.size()) out += "\nand " + std::to_string(answer.findings.size() - shown) + " more\n";
    out += "\n" + compared.names.before + " → " + compared.names.after + ", " + what_of(compared.diff);
    for (const std::string& doubt : answer.doubts) out += "; " + doubt;
    return out + ".\n";
}

Result<void> write_page(const std::string& path, Compared& compared, const std::string& table) {
    OutputFile file(path);
    if (!file.failed()) {
        const ByteSink sink = [&file](std::string_view text) { file.write(text); };
        auto written = write_diff_html(compared.diff, compared.names, SortBy::total, table, {}, sink);
        if (!written) return written;
    }
    return file.commit();
}

}  // namespace

bool is_of_profiles(const std::string& side) {
    std::error_code error;
    if (fs::is_directory(side, error)) {
        if (fs::exists(side + "/report.json", error)) return false;
        return std::ranges::any_of(fs::directory_iterator(side, error),
                                   [](const auto& entry) { return entry.path().extension() == ".fprobe"; });
    }
    if (fs::exists(side, error)) return !side.ends_with(".json") && !is_archive(side);
    return side.find(',') != side.npos || side.ends_with(".fprobe") || side.ends_with(".folded") || side == "-";
}

int compare_profiles(const ProfilesRequest& request) {
    auto compared = load(request);
    if (!compared) return complain(1, compared.error().message);
    TableNames names;
    names.whole = request.long_names;
    names.width = terminal_columns();
    const auto gate = request.fail_above ? std::optional(100 * *request.fail_above) : std::nullopt;
    const DiffTable table = diff_table(compared->diff, {}, SortBy::total, gate, names);
    const DiffAnswer answer = answer_of(compared->diff);
    for (const std::string& path : request.outputs) {
        auto written = path.ends_with(".json") ? write_file(path, json_of(*compared, answer, request))
                       : path.ends_with(".md") ? write_file(path, markdown_of(*compared, answer))
                                               : write_page(path, *compared, table.text);
        if (!written) return complain(1, written.error().message);
    }
    if (!print_text(stdout, table.text)) return complain(1, "standard output cannot be written");
    if (table.grown == 0) return 0;
    return complain(3, std::to_string(table.grown) + (table.grown == 1 ? " change" : " changes") +
                           " above --fail-above: see the last lines");
}

}  // namespace flameprobe::compare
