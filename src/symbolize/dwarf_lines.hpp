// Source files and lines of one unit, through libdw.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <string>

#include "symbolize/file_bytes.hpp"

namespace flameprobe {

/// For one thread; refers to the unit's Dwarf.
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

}  // namespace flameprobe
