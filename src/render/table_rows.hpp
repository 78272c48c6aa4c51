// The rows of a table of functions for people: what the picture folds is one row here too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "render/function_totals.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct TableRow {
    std::string call;       // of what is several functions: "[kernel: write]", "[malloc and free]",
                            // "in deflate, libz.so.1.2.13"; else empty
    FunctionTotal total;    // of its function, or of these
    bool leads_on = false;  // of what only leads to other rows: its total is its own
};

/// Of each node of the stacks the row that it belongs to, where that is another than its own function's.
struct NodeRows {
    std::vector<TableRow> rows;          // without sums
    std::vector<std::uint32_t> of_node;  // 0: its own function's, or none; else the index in `rows`, and 1
};

struct FunctionTable {
    std::vector<TableRow> rows;
    std::vector<TableRow> rest;  // own time of glue and notes, which are no rows: "[not sampled]", "start and wrappers"
    std::uint64_t samples = 0;   // weight of all
};

/// Functions of the program and of libraries, scopes, system calls and other work of the kernel. Allocators with their
/// insides are one row; where memory is what is counted they and libraries' functions are the nearest own function's.
/// What only forwards calls is its caller's, too. What a library's function inlined of its library is that function's,
/// up to the one that own code called. The heaviest first, by own weight or by total; then by name.
FunctionTable table_rows(const NamedProfile& profile, bool by_total);

NodeRows node_rows(const NamedProfile& profile);

/// "not in the table: [not sampled] 1.20 %, start and wrappers 0.10 %"; empty where that is nothing.
std::string rest_text(const FunctionTable& table);

}  // namespace flameprobe
