#include <algorithm>
#include <map>
#include <vector>

#include "export/text.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"
#include "symbolize/raw_profile.hpp"
#include "tables.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t functions_told = 3;

struct Row {
    std::string name;
    std::uint64_t innermost = 0;
    std::uint64_t open = 0;
    std::map<std::string, std::uint64_t> functions;
};

/// For each node the label of its innermost scope, 0 (the empty string) outside of all. Scopes with the same label are
/// one.
std::vector<StringId> innermost_scopes(const NamedProfile& profile) {
    std::vector<StringId> scope(profile.nodes.size());
    for (NodeId id = 1; id < profile.nodes.size(); ++id) {
        const Function& function = profile.function(id);
        scope[id] = function.kind == FrameKind::scope ? function.name : scope[profile.nodes[id].parent];
    }
    return scope;
}

/// The innermost frame that is not a scope, since a sample may be taken between a guard and the next call.
std::string leaf_name(const NamedProfile& profile, NodeId node, const TableNames& names) {
    for (; node != 0; node = profile.nodes[node].parent) {
        const FunctionId id = profile.function_of(node);
        if (profile.functions[id].kind != FrameKind::scope) return names.text(profile, id, 0);
    }
    return "";
}

std::map<StringId, Row> rows_of(const NamedProfile& profile, const TableNames& names) {
    std::map<StringId, Row> rows;
    const std::vector<StringId> scope = innermost_scopes(profile);
    for (const NamedCount& count : profile.counts) {
        Row& row = rows[scope[count.node]];
        row.innermost = add_saturated(row.innermost, count.weight);
        std::uint64_t& of_function = row.functions[leaf_name(profile, count.node, names)];
        of_function = add_saturated(of_function, count.weight);
    }
    for (const FunctionTotal& total : function_totals(profile).functions) {
        const Function& function = profile.functions[total.function];
        if (function.kind != FrameKind::scope) continue;
        rows[function.name].open = add_saturated(rows[function.name].open, total.total);
    }
    for (auto& [label, row] : rows) {
        row.name = label == 0 ? "not in any scope" : "[" + one_line(profile.strings.view(label)) + "]";
        if (label == 0) row.open = row.innermost;
    }
    return rows;
}

std::string busiest(const Row& row) {
    std::vector<std::pair<std::string, std::uint64_t>> functions(row.functions.begin(), row.functions.end());
    std::stable_sort(functions.begin(), functions.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (std::size_t i = 0; i < std::min(functions.size(), functions_told); ++i) {
        text += (i == 0 ? "" : ", ") + functions[i].first + " " +
                percent_text(static_cast<double>(functions[i].second), static_cast<double>(row.innermost));
    }
    return text;
}

}  // namespace

std::string scope_table(const NamedProfile& profile, std::uint64_t rows, const TableNames& names) {
    const auto by_label = rows_of(profile, {.whole = names.whole});
    std::vector<const Row*> sorted;
    for (const auto& [label, row] : by_label) sorted.push_back(&row);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Row* a, const Row* b) {
        return a->innermost != b->innermost ? a->innermost > b->innermost : a->name < b->name;
    });
    const auto all = static_cast<double>(total_weight(profile));
    std::string out = default_subtitle(profile) + "\n" + right_aligned("innermost", 12) + right_aligned("", 9) +
                      right_aligned("open", 12) + right_aligned("", 9) + "  scope: the functions with most of it\n";
    for (std::size_t i = 0; i < std::min<std::uint64_t>(rows, sorted.size()); ++i) {
        const Row& row = *sorted[i];
        out += right_aligned(amount_text(profile, row.innermost), 12) +
               right_aligned(percent_text(static_cast<double>(row.innermost), all), 9);
        out += right_aligned(amount_text(profile, row.open), 12) +
               right_aligned(percent_text(static_cast<double>(row.open), all), 9);
        out += "  " + row.name + (row.innermost > 0 ? ": " + busiest(row) : "") + "\n";
    }
    return out;
}

}  // namespace flameprobe
