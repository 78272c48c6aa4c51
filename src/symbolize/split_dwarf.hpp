// What -gsplit-dwarf leaves out of the program: the units' DIEs, in .dwo files or gathered in one .dwp.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "symbolize/debug_file.hpp"
#include "symbolize/debug_image.hpp"
#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

/// What a skeleton unit says about its split unit.
struct Skeleton {
    std::uint64_t id = 0;
    std::string name, directory;  // of the .dwo
    std::uint64_t low_pc = 0;
    Bytes addresses, ranges;  // its share of .debug_addr and, up to DWARF 4, of .debug_ranges

    static bool is(Dwarf_Die unit);
    static Skeleton read(Dwarf_Die unit, const DebugImage& image);
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
    using Parts = std::vector<DebugImage::Part>;

    /// From PROGRAM.dwp or DEBUG_FILE.dwp, once.
    void open_package();
    /// A unit's shares of the sections of the .dwp, by its id (DWARF 5, section 7.3.5.3).
    void read_index();
    std::unique_ptr<SplitUnit> in_package(const Skeleton& skeleton);
    std::unique_ptr<SplitUnit> in_file(const Skeleton& skeleton) const;

    std::string program_, debug_file_;
    std::string program_directory_;
    int root_;                          // see FileBytes::open()
    std::unique_ptr<ElfFile> package_;  // opened when it is first asked for
    std::map<std::uint64_t, Parts> package_units_;
    bool package_opened_ = false;
    mutable std::mutex mutex_;  // for the package and what is missing
    std::size_t missing_ = 0;
    std::string missing_name_;
};

}  // namespace flameprobe
