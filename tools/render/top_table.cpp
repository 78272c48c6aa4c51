#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "export/text.hpp"
#include "render/answer.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/run_facts.hpp"
#include "render/table_rows.hpp"
#include "render/text.hpp"
#include "tables.hpp"

namespace flameprobe {

std::string TableNames::text(const NamedProfile& profile, FunctionId function, std::size_t used) const {
    if (whole) return display_name(profile, function);
    const std::string name = folded_name(short_name(profile, function), profile.functions[function].kind);
    constexpr std::size_t least = 20;  // columns: a name is cut no further
    return width == 0 ? name : fit_name(name, std::max(least, width > used ? width - used : 0));
}

TableNames names_of(const Arguments& arguments) { return {.whole = arguments.long_names, .width = terminal_columns()}; }

std::size_t terminal_columns() {
    winsize size{};
    return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

namespace {

std::string share(std::uint64_t part, std::uint64_t whole) {
    return fixed_text(whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole), 2) + "%";
}

constexpr std::size_t figures = 44, ages = 22;  // columns before the name

FunctionTable every_function(const NamedProfile& profile, bool by_total) {
    FunctionTable table;
    Totals totals = function_totals(profile);
    table.samples = totals.samples;
    const auto key = [by_total](const FunctionTotal& f) {
        return by_total ? std::pair(f.total, f.self) : std::pair(f.self, f.total);
    };
    std::ranges::stable_sort(totals.functions, [&](const FunctionTotal& a, const FunctionTotal& b) {
        if (key(a) != key(b)) return key(a) > key(b);
        return display_name(profile, a.function) < display_name(profile, b.function);
    });
    for (const FunctionTotal& total : totals.functions) table.rows.push_back({{}, total});
    return table;
}

}  // namespace

std::string top_table(const NamedProfile& profile, std::uint64_t rows, SortBy sort, const TableNames& names,
                      bool unfold) {
    const bool by_total = sort == SortBy::total;
    const FunctionTable table = unfold ? every_function(profile, by_total) : table_rows(profile, by_total);
    const std::size_t shown = std::min<std::uint64_t>(rows, table.rows.size());
    std::string out = default_subtitle(profile) + "\n";
    for (const std::string& line : {answer(profile), rest_text(table)})
        if (!line.empty()) out += line + "\n";
    if (counts_waiting(profile.run))
        for (const WaitReason& one : wait_reasons(profile))
            out += right_aligned(one.share, 5) + right_aligned(duration_text(one.ns), 13) + "  " + one.sentence + "\n";
    out += right_aligned("self", 12) + right_aligned("", 9) + right_aligned("total", 12) + right_aligned("", 9) +
           (profile.has_ages ? right_aligned("mean age", 11) + right_aligned("oldest", 11) : "") + "  function\n";
    for (std::size_t i = 0; i < shown; ++i) {
        const FunctionTotal& row = table.rows[i].total;
        out += right_aligned(amount_text(profile, row.self), 12) + right_aligned(share(row.self, table.samples), 9);
        out += right_aligned(amount_text(profile, row.total), 12) + right_aligned(share(row.total, table.samples), 9);
        if (profile.has_ages)
            out +=
                right_aligned(duration_text(row.age.mean_ns), 11) + right_aligned(duration_text(row.age.oldest_ns), 11);
        const std::string& call = table.rows[i].call;
        std::string module = call.empty() ? file_of(profile, row.function) : "";
        if (!module.empty()) module = "  (" + module + ")";
        const std::size_t used = figures + (profile.has_ages ? ages : 0) + columns(module);
        out += "  " + (call.empty() ? names.text(profile, row.function, used) : call) + module + '\n';
    }
    if (shown < table.rows.size()) out += "and " + count_text(table.rows.size() - shown) + " more functions\n";
    return out;
}

}  // namespace flameprobe
