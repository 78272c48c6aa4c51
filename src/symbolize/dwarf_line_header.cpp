#include <dwarf.h>

#include <algorithm>

#include "symbolize/dwarf_lines.hpp"

namespace flameprobe {

LineProgram::LineProgram(const DwarfUnit& unit, const DwarfSections* alternate) : unit_(unit) {
    if (!unit.line_offset) return;
    ByteCursor cursor(unit.sections->line, *unit.line_offset);
    std::uint64_t size = cursor.u32();
    format_.is_64 = size == 0xffffffff;
    if (format_.is_64) size = cursor.u64();
    if (!cursor.ok() || size > cursor.remaining()) return;
    const std::uint64_t end = cursor.offset() + size;
    cursor = ByteCursor(unit.sections->line.first(end), cursor.offset());
    read_header(cursor, alternate);
}

void LineProgram::read_header(ByteCursor& cursor, const DwarfSections* alternate) {
    format_.version = cursor.u16();
    if (format_.version < 2 || format_.version > 5) return;
    if (format_.version >= 5) cursor.skip(2);  // sizes of address and segment selector
    const std::uint64_t header_size = cursor.sized(format_.offset_size());
    if (header_size > cursor.remaining()) return;
    const std::uint64_t program_at = cursor.offset() + header_size;
    minimum_length_ = cursor.u8();
    if (format_.version >= 4) operations_per_instruction_ = std::max<std::uint8_t>(cursor.u8(), 1);
    cursor.skip(1);  // default of is_stmt: every row counts here
    line_base_ = static_cast<std::int8_t>(cursor.u8());
    line_range_ = std::max<std::uint8_t>(cursor.u8(), 1);
    opcode_base_ = cursor.u8();
    for (unsigned opcode = 1; opcode < opcode_base_; ++opcode) opcode_lengths_.push_back(cursor.u8());
    if (format_.version >= 5)
        read_tables(cursor, alternate);
    else
        read_old_tables(cursor);
    cursor.seek(program_at);
    const std::uint64_t end = cursor.offset() + cursor.remaining();
    program_ = unit_.sections->line.subspan(program_at, end - program_at);
}

/// DWARF 2 to 4: directory 0 is the unit's own, and files count from 1.
void LineProgram::read_old_tables(ByteCursor& cursor) {
    directories_.push_back(unit_.comp_dir);
    for (std::string_view name; !(name = cursor.text()).empty();) directories_.push_back(name);
    files_.push_back({unit_.name, 0});
    for (std::string_view name; !(name = cursor.text()).empty();) {
        const std::uint64_t directory = cursor.uleb();
        cursor.skip_leb();  // time
        cursor.skip_leb();  // size
        files_.push_back({name, directory});
    }
}

void LineProgram::read_tables(ByteCursor& cursor, const DwarfSections* alternate) {
    for (const File& directory : read_entries(cursor, alternate)) directories_.push_back(directory.name);
    files_ = read_entries(cursor, alternate);
}

/// A list of entries, behind the description of what each holds (DWARF 5, section 6.2.4.1).
std::vector<LineProgram::File> LineProgram::read_entries(ByteCursor& cursor, const DwarfSections* alternate) {
    struct Field {
        std::uint64_t content;
        AttributeSpec spec;
    };
    std::vector<Field> fields(cursor.u8());
    for (Field& field : fields) {
        field.content = cursor.uleb();
        field.spec.form = static_cast<std::uint16_t>(cursor.uleb());
    }
    std::vector<File> files;
    const std::uint64_t count = cursor.uleb();
    for (std::uint64_t i = 0; i < count && !fields.empty(); ++i) {
        File file;
        for (const Field& field : fields) {
            const DwarfValue value = read_value(cursor, field.spec, format_);
            if (field.content == DW_LNCT_path) file.name = unit_.text(value, alternate);
            if (field.content == DW_LNCT_directory_index) file.directory = value.number;
        }
        if (!cursor.ok()) break;
        files.push_back(file);
        // An entry of no bytes (implicit values only) could be announced 2^64 times.
        if (files.size() > unit_.sections->line.size()) break;
    }
    return files;
}

std::string LineProgram::path(std::uint64_t number) const {
    if (number >= files_.size() || files_[number].name.empty()) return {};
    const File& file = files_[number];
    std::string path(file.name);
    if (path.starts_with('/')) return path;
    const auto put_before = [&path](std::string_view directory) {
        if (!directory.empty() && !path.starts_with('/'))
            path.insert(0, std::string(directory).append(directory.ends_with('/') ? "" : "/"));
    };
    // Directory 0 is the unit's, which the others are relative to (where it is itself, there is nothing to be had).
    if (file.directory != 0 && file.directory < directories_.size()) put_before(directories_[file.directory]);
    put_before(directories_.empty() ? unit_.comp_dir : directories_[0]);
    return path;
}

}  // namespace flameprobe
