// Functions, inlined copies and lines of one module, from its DWARF.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "symbolize/debug_file.hpp"
#include "symbolize/debug_image.hpp"
#include "symbolize/dwarf_functions.hpp"
#include "symbolize/dwarf_walk.hpp"
#include "symbolize/symbol_table.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

// What -gsplit-dwarf leaves out of the program: the units' DIEs, in .dwo files or gathered in one .dwp.

/// What a skeleton unit says about its split unit.
struct Skeleton {
    std::uint64_t id = 0;
    std::string name, directory;  // of the .dwo
    std::uint64_t low_pc = 0;
    Bytes addresses, ranges;  // its share of .debug_addr and, up to DWARF 4, of .debug_ranges

    /// Nothing where the unit is whole.
    static std::optional<Skeleton> of(Dwarf_Die unit, const DebugImage& image);
};

/// The DIEs that belong to a skeleton unit, for one thread.
struct SplitUnit {
    DebugImage image;
    DwarfOwner dwarf;
    CodeUnit unit;
};

/// Finds split units. Thread-safe. libdw 0.188 reads no .dwp, so it gets each split unit as an image, together with the
/// skeleton's addresses.
class SplitDwarf {
public:
    /// For the module whose program is at `program` and whose debug information is in `debug_file`.
    SplitDwarf(const std::string& program, const ElfFile& debug_file, const DebugFileSearch& search);

    /// From PROGRAM.dwp, or else the file that the skeleton names; its id must be the skeleton's. Null if there is
    /// none.
    std::unique_ptr<SplitUnit> find(const Skeleton& skeleton);
    /// How many were not found, and the name of one of them.
    std::pair<std::size_t, std::string> missing() const;

private:
    /// From PROGRAM.dwp or DEBUG_FILE.dwp, once.
    void open_package();
    /// A unit's shares of the sections of the .dwp, by its id (DWARF 5, section 7.3.5.3).
    void read_index();
    std::unique_ptr<SplitUnit> in_package(const Skeleton& skeleton);
    std::unique_ptr<SplitUnit> in_file(const Skeleton& skeleton) const;

    std::string program_, debug_file_;
    int root_;                          // see FileBytes::open()
    std::unique_ptr<ElfFile> package_;  // opened when it is first asked for
    std::map<std::uint64_t, DebugImage::Parts> package_units_;
    bool package_opened_ = false;
    mutable std::mutex mutex_;  // for the package and what is missing
    std::size_t missing_ = 0;
    std::string missing_name_;
};

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
