// What -gsplit-dwarf leaves out of the program: the units' DIEs, in .dwo files or gathered in one .dwp.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "symbolize/debug_file.hpp"
#include "symbolize/dwarf_file.hpp"

namespace flameprobe {

/// The DIEs that belong to a skeleton unit. Refers to the skeleton, which must outlive it.
struct SplitUnit {
    std::unique_ptr<ElfFile> elf;  // null if it is of a .dwp
    std::unique_ptr<DwarfFile> file;
    const DwarfUnit* unit = nullptr;
};

/// Thread-safe after its constructor.
class SplitDwarf {
public:
    /// For the module whose program is at `program` and whose debug information is in `debug_file`.
    SplitDwarf(const std::string& program, const ElfFile& debug_file, const DebugFileSearch& search);

    /// From PROGRAM.dwp, or else the file that the skeleton names; its id must be the skeleton's. Null if there is
    /// none.
    std::unique_ptr<SplitUnit> find(const DwarfUnit& skeleton) const;
    /// How many were not found, and the name of one of them.
    std::pair<std::size_t, std::string> missing() const;

private:
    /// A unit's shares of the sections of the .dwp, by its id (DWARF 5, section 7.3.5.3).
    void read_index();
    std::unique_ptr<SplitUnit> in_package(const DwarfUnit& skeleton) const;
    std::unique_ptr<SplitUnit> in_file(const DwarfUnit& skeleton) const;

    std::string program_directory_;
    FileAccess access_;
    std::unique_ptr<ElfFile> package_;
    std::map<std::uint64_t, DwarfSections> package_units_;
    mutable std::mutex mutex_;
    mutable std::size_t missing_ = 0;
    mutable std::string missing_name_;
};

}  // namespace flameprobe
