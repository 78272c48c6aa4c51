#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "export/text.hpp"
#include "render/answer.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/run_facts.hpp"
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

}  // namespace

std::string top_table(const NamedProfile& profile, std::uint64_t rows, SortBy sort, const TableNames& names) {
    Totals totals = function_totals(profile);
    auto& functions = totals.functions;
    const auto key = [sort](const FunctionTotal& f) { return sort == SortBy::self ? f.self : f.total; };
    const auto other = [sort](const FunctionTotal& f) { return sort == SortBy::self ? f.total : f.self; };
    std::stable_sort(functions.begin(), functions.end(), [&](const FunctionTotal& a, const FunctionTotal& b) {
        if (key(a) != key(b)) return key(a) > key(b);
        if (other(a) != other(b)) return other(a) > other(b);
        return display_name(profile, a.function) < display_name(profile, b.function);
    });
    const std::size_t shown = std::min<std::uint64_t>(rows, functions.size());
    std::string out = default_subtitle(profile) + "\n";
    if (const std::string sentence = answer(profile); !sentence.empty()) out += sentence + "\n";
    out += right_aligned("self", 12) + right_aligned("", 9) + right_aligned("total", 12) + right_aligned("", 9) +
           (profile.has_ages ? right_aligned("mean age", 11) + right_aligned("oldest", 11) : "") + "  function\n";
    for (std::size_t i = 0; i < shown; ++i) {
        const FunctionTotal& row = functions[i];
        out += right_aligned(amount_text(profile, row.self), 12) + right_aligned(share(row.self, totals.samples), 9);
        out += right_aligned(amount_text(profile, row.total), 12) + right_aligned(share(row.total, totals.samples), 9);
        if (profile.has_ages)
            out +=
                right_aligned(duration_text(row.age.mean_ns), 11) + right_aligned(duration_text(row.age.oldest_ns), 11);
        std::string module = module_name(profile, row.function);
        if (!module.empty()) module = "  (" + module + ")";
        out += "  " + names.text(profile, row.function, figures + (profile.has_ages ? ages : 0) + columns(module)) +
               module;
        out += '\n';
    }
    if (shown < functions.size()) out += "and " + count_text(functions.size() - shown) + " more functions\n";
    return out;
}

}  // namespace flameprobe
