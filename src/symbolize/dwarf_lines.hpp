// Line number programs (DWARF 5, section 6.2), run for the addresses that are wanted and nothing kept but their rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/dwarf_unit.hpp"

namespace flameprobe {

struct LineRow {
    std::uint32_t file = 0;  // to be given to LineProgram::path
    std::uint32_t line = 0;
    bool found = false;
};

class LineProgram {
public:
    /// Reads the header of the program of `unit`. Hostile input gives fewer files, or a program without rows.
    LineProgram(const DwarfUnit& unit, const DwarfSections* alternate);

    /// The rows for ascending addresses. `lowest`: sequences that start below it are of code that was thrown away when
    /// the program was linked.
    std::vector<LineRow> find(std::span<const std::uint64_t> addresses, std::uint64_t lowest) const;
    /// The full path of a file by its number in this unit; empty if there is no such file.
    std::string path(std::uint64_t file) const;

private:
    struct File {
        std::string_view name;
        std::uint64_t directory = 0;
    };

    void read_header(ByteCursor& cursor, const DwarfSections* alternate);
    void read_old_tables(ByteCursor& cursor);
    void read_tables(ByteCursor& cursor, const DwarfSections* alternate);
    std::vector<File> read_entries(ByteCursor& cursor, const DwarfSections* alternate);

    const DwarfUnit& unit_;
    UnitFormat format_;
    std::uint8_t minimum_length_ = 1, operations_per_instruction_ = 1, opcode_base_ = 1, line_range_ = 1;
    std::int8_t line_base_ = 0;
    std::vector<std::uint8_t> opcode_lengths_;
    std::vector<std::string_view> directories_;
    std::vector<File> files_;
    Bytes program_;
};

}  // namespace flameprobe
