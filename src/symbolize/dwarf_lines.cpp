#include "symbolize/dwarf_lines.hpp"

#include <cstring>
#include <string_view>

#include "symbolize/byte_cursor.hpp"
#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

namespace {

/// A row may take only one byte of a table, but takes about a hundred in libdw's memory.
constexpr std::uint64_t most_table_bytes = std::uint64_t{8} << 20;

/// 0 if there is none.
std::uint64_t size_of_table(Dwarf_Die unit, Bytes section) {
    ByteCursor cursor(section, number_of(unit, DW_AT_stmt_list));
    std::uint64_t size = cursor.u32();
    if (size == 0xffffffff) size = cursor.u64();
    return cursor.ok() ? size : 0;
}

}  // namespace

LineTable::LineTable(Dwarf_Die unit, Bytes section) : unit_(unit) {
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (!attribute_of(unit, DW_AT_stmt_list)) return;
    if (too_large_ = size_of_table(unit, section) > most_table_bytes; too_large_) return;
    if (::dwarf_getsrclines(&unit_, &lines, &count) != 0) return;
    has_rows_ = count > 0;
    if (::dwarf_getsrcfiles(&unit_, &files_, &count) != 0) files_ = nullptr;
    if (const char* const directory = text_of(unit, DW_AT_comp_dir); directory != nullptr) directory_ = directory;
    if (!directory_.empty() && !directory_.ends_with('/')) directory_.push_back('/');
}

Dwarf_Line* LineTable::row(std::uint64_t address) { return has_rows_ ? ::dwarf_getsrc_die(&unit_, address) : nullptr; }

std::uint32_t LineTable::line(Dwarf_Line* row) {
    int line = 0;
    return ::dwarf_lineno(row, &line) == 0 ? static_cast<std::uint32_t>(line) : 0;
}

const std::string& LineTable::file(Dwarf_Line* row) { return full_path(::dwarf_linesrc(row, nullptr, nullptr)); }

const std::string& LineTable::file(std::uint32_t number) {
    return full_path(files_ == nullptr ? nullptr : ::dwarf_filesrc(files_, number, nullptr, nullptr));
}

const std::string& LineTable::full_path(const char* name) {
    const auto [entry, is_new] = paths_.try_emplace(name);
    if (!is_new || name == nullptr || std::strcmp(name, "???") == 0) return entry->second;  // libdw's name for none
    // libdw puts the directory before the name, but leaves that relative to the unit's, which may be relative itself.
    const std::string_view path(name);
    const bool joined = path.starts_with('/') || (!directory_.empty() && path.starts_with(directory_));
    return entry->second = joined ? std::string(path) : directory_ + std::string(path);
}

}  // namespace flameprobe
