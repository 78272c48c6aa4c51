#include "comment.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "markdown.hpp"
#include "profile/counters.hpp"
#include "render/answer.hpp"
#include "render/call_tree.hpp"
#include "render/describe.hpp"
#include "render/role.hpp"
#include "render/run_facts.hpp"
#include "render/table_rows.hpp"
#include "render/text.hpp"
#include "tables.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t most_rows = 10, most_waits = 5, most_lines = 24, bar = 24, longest_shown = 60;

/// A name for a code span or block: there `*` and `@` are no markup, only a backtick would end it.
std::string plain(std::string_view name) {
    std::string text = fit_name(clean_text(name), longest_shown);
    std::ranges::replace(text, '`', '\'');
    return text;
}

/// In a cell of a table.
std::string code(std::string_view name) {
    std::string text = plain(name);
    for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at + 2)) text.insert(at, 1, '\\');
    return "`" + text + "`";
}

/// Sentences have names with `*` and `_` in them, and locks in code spans, where nothing is escaped.
std::string escaped(std::string_view sentence) {
    std::string text;
    for (bool in_code = false;; in_code = !in_code) {
        const std::string_view part = sentence.substr(0, sentence.find('`'));
        text += in_code ? std::string(part) : markdown_escaped(part, ">#@~");
        if (part.size() == sentence.size()) return text;
        text += '`';
        sentence.remove_prefix(part.size() + 1);
    }
}

std::string function_rows(const NamedProfile& profile) {
    const FunctionTable table = table_rows(profile, false);
    std::string out = "| self | total | function |\n|-:|-:|:-|\n";
    for (std::size_t at = 0; at < std::min(most_rows, table.rows.size()); ++at) {
        const TableRow& row = table.rows[at];
        out += "| " + whole_percent(row.total.self, table.samples) + " | " +
               whole_percent(row.total.total, table.samples) + " | " +
               code(row.call.empty() ? short_name(profile, row.total.function) : row.call) + " |\n";
    }
    return out + "\n";
}

std::string wait_rows(const NamedProfile& profile) {
    const std::vector<WaitReason> reasons = wait_reasons(profile);
    if (reasons.empty()) return {};
    std::string out = "| share | time | what the threads waited for |\n|-:|-:|:-|\n";
    for (std::size_t at = 0; at < std::min(most_waits, reasons.size()); ++at)
        out += "| " + reasons[at].share + " | " + duration_text(reasons[at].ns) + " | " +
               escaped(reasons[at].sentence) + " |\n";
    return out + "\n";
}

/// The widest boxes, callers above their callees: so many that they fit.
std::vector<const Box*> widest(const CallTree& tree) {
    std::vector<const Box*> shown;
    std::vector<std::uint64_t> widths;
    for (const Box& box : tree.boxes) {
        const bool named = box.kind == BoxKind::all || box.kind == BoxKind::function || box.kind == BoxKind::folded;
        if (box.hidden || !named) continue;
        shown.push_back(&box);
        widths.push_back(box.total);
    }
    if (widths.size() <= most_lines) return shown;
    std::ranges::sort(widths, std::ranges::greater{});
    std::erase_if(shown, [&](const Box* box) { return box->total <= widths[most_lines]; });
    return shown;
}

std::string icicle(const NamedProfile& profile) {
    auto tree = build_call_tree(profile, {.min_width = 2, .by_weight = true, .gather_threads = true});
    if (!tree) return {};
    fold_rows(*tree, profile, function_roles(profile));
    const auto whole = static_cast<double>(tree->boxes[0].total);
    const auto column = [&](std::uint64_t weight) {
        return static_cast<std::size_t>(std::lround(static_cast<double>(weight) / whole * bar));
    };
    std::string out = "```text\n";
    for (const Box* box : widest(*tree)) {
        const std::size_t from = column(box->start), to = std::max(column(box->start + box->total), from + 1);
        out += right_aligned(whole_percent(box->total, tree->boxes[0].total), 5) + " ";
        for (std::size_t at = 0; at < std::max(bar, to); ++at) out += at >= from && at < to ? "█" : " ";
        out += " " + std::string(box->row, ' ') + plain(box_label(profile, *tree, *box)) + "\n";
    }
    return out + "```\n";
}

}  // namespace

std::string comment_text(const NamedProfile& profile) {
    std::string out;
    for (const Answer& one : answers(profile))
        out += "**" + (out.empty() ? "" : escaped(one.event) + ": ") + escaped(one.sentence) + "**\n\n";
    if (profile.has_run) out += code(profile.run.command) + ": ";
    out += escaped(default_subtitle(profile)) + "\n\n";
    return out + function_rows(profile) + wait_rows(profile) + icicle(profile);
}

}  // namespace flameprobe
