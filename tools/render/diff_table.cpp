#include <algorithm>
#include <cmath>
#include <vector>

#include "diff_answer.hpp"
#include "diff_pictures.hpp"
#include "export/text.hpp"
#include "render/describe.hpp"
#include "render/text.hpp"
#include "tables.hpp"

namespace flameprobe {

namespace {

std::string percent(double part) { return fixed_text(100 * part, 2) + "%"; }
std::string with_sign(double part) { return (part < 0 ? "-" : "+") + percent(std::abs(part)); }

std::string note(const FunctionChange& row) {
    if (row.total.appeared()) return "new";
    if (row.total.vanished()) return "gone";
    return row.self.is_noise() && row.total.is_noise() ? "noise" : "";
}

/// What is alive, or what a unit of work costs.
std::string each_text(const ProfileDiff& diff, double weight) {
    const auto whole = static_cast<std::uint64_t>(std::llround(weight / diff.units));
    constexpr std::uint64_t micro = 1000;
    return diff.is_time[0] && diff.is_time[1] && whole < micro ? count_text(whole) + " ns"
                                                               : amount_text(diff.profile, whole);
}

std::string sign_and(const ProfileDiff& diff, const Change& change) {
    if (!diff.by_amount) return with_sign(change.difference());
    const std::uint64_t before = change.before().count, after = change.after().count;
    return (after < before ? "-" : "+") +
           each_text(diff, static_cast<double>(after < before ? before - after : after - before));
}

std::string figure(const ProfileDiff& diff, Share part) {
    return diff.by_amount ? each_text(diff, static_cast<double>(part.count)) : percent(part.value());
}

std::size_t column(const ProfileDiff& diff) { return diff.by_amount ? 12 : 9; }

std::string columns(const ProfileDiff& diff, const Change& change) {
    const std::size_t width = column(diff);
    return right_aligned(figure(diff, change.before()), width) + right_aligned(figure(diff, change.after()), width) +
           right_aligned(sign_and(diff, change), width);
}

/// Columns before the name.
std::size_t change_figures(const ProfileDiff& diff) { return 6 * column(diff) + 8; }

/// What found no match on the other side, a line; empty if next to nothing.
std::string matched_words(const ProfileDiff& diff) {
    constexpr double told = 0.0005;
    const double before = 1 - diff.matched[0], after = 1 - diff.matched[1];
    if (before < told && after < told) return {};
    return "on one side only: " + percent_text(before, 1) + " of the time before, " + percent_text(after, 1) +
           " after\n";
}

void sort_rows(std::vector<FunctionChange>& rows, SortBy sort, const NamedProfile& profile) {
    const auto key = [sort](const FunctionChange& row) {
        return std::abs((sort == SortBy::self ? row.self : row.total).difference());
    };
    const auto noise = [](const FunctionChange& row) { return row.self.is_noise() && row.total.is_noise(); };
    std::stable_sort(rows.begin(), rows.end(), [&](const FunctionChange& a, const FunctionChange& b) {
        if (noise(a) != noise(b)) return noise(b);
        if (key(a) != key(b)) return key(a) > key(b);
        return display_name(profile, a.function) < display_name(profile, b.function);
    });
}

}  // namespace

DiffTable diff_table(ProfileDiff& diff, std::optional<std::uint64_t> rows, SortBy sort,
                     std::optional<double> fail_above, const TableNames& names) {
    constexpr std::uint64_t rows_by_default = 30;
    std::vector<FunctionChange> changes = function_changes(diff);
    sort_rows(changes, sort, diff.profile);
    const auto beyond = static_cast<std::uint64_t>(std::ranges::count_if(
        changes, [](const FunctionChange& row) { return !row.self.is_noise() || !row.total.is_noise(); }));
    const std::size_t shown = std::min<std::uint64_t>(rows.value_or(std::min(beyond, rows_by_default)), changes.size());
    const DiffAnswer& answer = answer_of(diff);
    DiffTable table;
    std::string& out = table.text;
    out = answer_text(answer, names.width);
    out += diff.by_amount && diff.unit.empty()
               ? side_words(diff, false) + " before; " + side_words(diff, true) + " after"
               : count_text(diff.samples_before) + " samples before, " + count_text(diff.samples_after) + " after; " +
                     (diff.unit.empty() ? "shares of " + diff.of : diff.of + each_unit(diff.unit));
    out += "; \"noise\": within the 99.9 % interval of chance\n";
    if (!diff.left_out.empty()) out += diff.left_out + "\n";
    for (const std::string& remark : diff.remarks) out += remark + "\n";
    out += matched_words(diff);
    const std::size_t width = column(diff);
    if (shown > 0) {
        for (const char* const part : {"self", "total"})
            out += right_aligned(part, 2 * width) + right_aligned("change", width);
        out += "\n";
    }
    for (std::size_t i = 0; i < shown; ++i) {
        const FunctionChange& row = changes[i];
        const std::string said = note(row);
        out += columns(diff, row.self) + columns(diff, row.total) + "  " + said + std::string(6 - said.size(), ' ') +
               names.text(diff.profile, row.function, change_figures(diff)) + "\n";
    }
    const std::size_t left = changes.size() - shown;
    if (left > 0)
        out += "and " + count_text(left) + (shown >= beyond ? " functions within noise\n" : " more functions\n");
    if (!fail_above) return table;
    table.grown = count_grown(answer, *fail_above / 100);
    for (const Finding& finding : answer.findings)
        if (finding.least_growth > *fail_above / 100)
            out += "above " + short_decimal(*fail_above, 4) + "%: " + finding.name + ": " + finding.before + " → " +
                   finding.after + ", by at least " + short_decimal(100 * finding.least_growth, 1) +
                   " % of the whole before\n";
    if (answer.least_fall > *fail_above / 100)
        out += "above " + short_decimal(*fail_above, 4) + "%: throughput fell by at least " +
               short_decimal(100 * answer.least_fall, 1) + " %\n";
    return table;
}

namespace {

/// A part of the whole that both sides are parts of.
std::string amount_of(const ProfileDiff& diff, double part) {
    const auto whole = static_cast<double>(std::max(diff.weight_before, diff.weight_after));
    return each_text(diff, part * whole);
}

std::string words(const ProfileDiff& diff, double part) {
    return diff.by_amount ? amount_of(diff, part) : fixed_text(100 * part, 2) + " %";
}

}  // namespace

std::string part_words(const ProfileDiff& diff, Share part) { return words(diff, part.value()); }

std::string difference_words(const ProfileDiff& diff, const Change& change) {
    return (change.difference() < 0 ? "−" : "+") + words(diff, std::abs(change.difference()));
}

std::string noise_words(const ProfileDiff& diff, const Change& change) { return "±" + words(diff, change.noise()); }

std::string side_words(const ProfileDiff& diff, bool after) {
    const std::string samples = samples_text(after ? diff.samples_after : diff.samples_before);
    return diff.by_amount && diff.unit.empty()
               ? unit_text(diff.profile, after ? diff.weight_after : diff.weight_before) + ", " + samples
               : samples;
}

}  // namespace flameprobe
