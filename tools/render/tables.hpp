// Tables of a profile as text: functions, scopes, facts.
#pragma once

#include <cstdint>
#include <string>

#include "arguments.hpp"
#include "render/text.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// How names of functions stand in a table.
struct TableNames {
    bool whole = false;     // with template arguments and parameters
    std::size_t width = 0;  // of the terminal in columns; 0: lines may have any length

    /// In what is left of the line behind `used` columns.
    std::string text(const NamedProfile& profile, FunctionId function, std::size_t used) const;
};
TableNames names_of(const Arguments& arguments);
/// Of the terminal that standard output is; 0: it is none.
std::size_t terminal_columns();

/// The `rows` functions with most samples, as a table for a terminal: self, total, name, module.
std::string top_table(const NamedProfile& profile, std::uint64_t rows, SortBy sort, const TableNames& names = {},
                      bool unfold = false);

/// One row for each scope, and one for samples in none: samples while it was the innermost open scope, samples while it
/// was open at all, and the functions with most samples of their own while it was innermost.
std::string scope_table(const NamedProfile& profile, std::uint64_t rows, const TableNames& names = {});

/// What was measured and how, the threads, and the files whose code was sampled: "Label: value" lines.
std::string info_text(const NamedProfile& profile);

/// The text, right-aligned in a column of a table.
inline std::string right_aligned(const std::string& text, std::size_t width) {
    const std::size_t used = columns(text);
    return std::string(width > used ? width - used : 0, ' ') + text;
}

}  // namespace flameprobe
