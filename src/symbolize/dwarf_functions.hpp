// What one unit says of addresses, through libdw: which functions, and which inlined copies of functions, they lie in,
// what these are called, and which source lines they come from.
#pragma once

#include <elfutils/libdw.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolize/dwarf_walk.hpp"
#include "symbolize/file_bytes.hpp"

namespace flameprobe {

/// A function whose code holds an address: the concrete one, or a copy inlined into the one before it.
struct FunctionStep {
    Dwarf_Die die{};              // of the concrete function or of the DW_TAG_inlined_subroutine
    std::uint32_t call_file = 0;  // where it was inlined: file of the unit's line table
    std::uint32_t call_line = 0;
};

/// From the concrete function (first) to the innermost inlined one.
using FunctionSteps = std::vector<FunctionStep>;

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// The steps for each of the ascending addresses, empty where the unit has no function. One pass over those DIEs that
/// may hold code. `lowest`: code that starts below this address was discarded by the linker. Nothing if the deadline
/// passed.
std::optional<std::vector<FunctionSteps>> find_functions(const CodeUnit& unit, std::span<const std::uint64_t> addresses,
                                                         std::uint64_t lowest, const Deadline& deadline);

/// Source files and lines of one unit. For one thread; refers to the unit's Dwarf.
class LineTable {
public:
    /// `section` is the unit's .debug_line. A table for which libdw would take too much memory or time is not read.
    LineTable(Dwarf_Die unit, Bytes section);

    /// The table was not read because of its size.
    bool too_large() const { return too_large_; }
    /// Null where nothing is known.
    Dwarf_Line* row(std::uint64_t address);
    static std::uint32_t line(Dwarf_Line* row);
    /// The full path of the file of a row, or by its number in the unit; empty if there is none.
    const std::string& file(Dwarf_Line* row);
    const std::string& file(std::uint32_t number);

private:
    const std::string& full_path(const char* name);

    Dwarf_Die unit_;
    bool too_large_ = false;
    bool has_rows_ = false;
    Dwarf_Files* files_ = nullptr;
    std::string directory_;  // of the compilation, with a slash at its end
    std::map<const void*, std::string> paths_;
};

/// What a function's DIE, and those that it refers to, say about its name.
struct DieName {
    const char* linkage = nullptr;  // mangled; null if the compiler gave none
    const char* plain = nullptr;    // as in the source, without the scopes around it
    Dwarf_Die named{};              // the DIE that has `plain`
    Dwarf_Word decl_line = 0;
};

/// Follows DW_AT_abstract_origin and DW_AT_specification from concrete and inlined functions to whatever names them.
DieName name_of(Dwarf_Die die);

/// The parameters of a function whose linkage name does not give them: `(int, Config const&)`, where a type without a
/// name is `...`.
std::string parameters_of(const Dwarf_Die& function);

struct FunctionName {
    std::string name;  // demangled or with its scopes; empty if the file has none
    std::uint32_t decl_line = 0;
};

/// For one unit and one thread: first `add` all functions, then `finish`, then `find` their names.
class FunctionNames {
public:
    void add(const Dwarf_Die& die);
    void finish();
    const FunctionName& find(const Dwarf_Die& die) const { return known_.find(die.addr)->second.result; }

private:
    struct Parts {
        DieName name;
        FunctionName result;
    };

    std::map<const void*, std::string> scopes() const;

    std::unordered_map<const void*, Parts> known_;  // by the DIE's place in memory
};

}  // namespace flameprobe
