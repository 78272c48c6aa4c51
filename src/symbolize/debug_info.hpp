// Functions, inlined copies and lines of one module, from its DWARF.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "symbolize/debug_file.hpp"
#include "symbolize/dwarf_file.hpp"
#include "symbolize/dwarf_functions.hpp"
#include "symbolize/split_dwarf.hpp"
#include "symbolize/symbol_table.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// Addresses of one unit: `addresses[first]` ... of those given to `find_units`.
struct UnitHits {
    std::uint32_t unit = 0;
    std::vector<std::uint32_t> indices;  // ascending
};

/// After its constructor any thread may use it.
class DebugInfo {
public:
    /// `file`, which has the sections, must outlive this; `program` is the path of the file that was mapped.
    DebugInfo(const std::string& program, const ElfFile& file, const DebugFileSearch& search);

    /// Which units hold which of the ascending addresses.
    std::vector<UnitHits> find_units(std::span<const std::uint64_t> addresses) const;
    /// Chains for the ascending addresses of one unit, innermost first; empty where nothing is known; a function
    /// without a name has an empty one. `symbols` helps out with names. Nothing if the deadline passed.
    std::optional<SymbolChains> describe(std::uint32_t unit, std::span<const std::uint64_t> addresses,
                                         const SymbolTable& symbols, const Deadline& deadline) const;

    /// What was found missing so far: one line each, for a person.
    std::vector<std::string> warnings() const;

private:
    std::string program_;
    bool alternate_missing_ = false;
    std::unique_ptr<ElfFile> alternate_elf_;
    std::unique_ptr<DwarfFile> alternate_;
    std::unique_ptr<DwarfFile> main_;
    std::unique_ptr<SplitDwarf> split_;  // null if no unit is split
    std::uint64_t lowest_ = 0;           // code address
};

}  // namespace flameprobe
