// Functions, inlined copies and lines of one module, from its DWARF.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbolize/debug_file.hpp"
#include "symbolize/debug_image.hpp"
#include "symbolize/dwarf_functions.hpp"
#include "symbolize/split_dwarf.hpp"
#include "symbolize/symbol_table.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// Addresses of one unit: `addresses[first]` ... of those given to `find_units`.
struct UnitHits {
    std::uint64_t unit = 0;              // where its DIEs begin in .debug_info
    std::uint64_t size = 0;              // bytes of .debug_info
    std::vector<std::uint32_t> indices;  // ascending
};

/// After its constructor any thread may use it. Its functions throw std::bad_alloc.
class DebugInfo {
public:
    /// `file`, which has the sections, must outlive this; `program` is the path of the file that was mapped.
    DebugInfo(const std::string& program, const ElfFile& file, const DebugFileSearch& search);

    /// Which units hold which of the ascending addresses.
    std::vector<UnitHits> find_units(std::span<const std::uint64_t> addresses);
    /// Chains for the ascending addresses of one unit, innermost first; empty where nothing is known; a function
    /// without a name has an empty one. Names that DWARF lacks come from `symbols`. Nothing if the deadline passed.
    std::optional<SymbolChains> describe(const UnitHits& unit, std::span<const std::uint64_t> addresses,
                                         const SymbolTable& symbols, const Deadline& deadline);

    /// What is missing so far: a line for the user about each.
    std::vector<std::string> warnings() const;

private:
    std::string program_;
    bool unreadable_ = false;
    bool alternate_missing_ = false;
    std::atomic<std::size_t> tables_too_large_ = 0;  // of lines
    std::uint64_t lowest_ = 0;                       // code address
    DebugImage image_;
    std::optional<DebugImage> alternate_image_;
    SplitDwarf split_;
    DwarfPool pool_;
};

}  // namespace flameprobe
