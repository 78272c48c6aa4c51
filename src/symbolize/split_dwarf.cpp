#include "symbolize/split_dwarf.hpp"

#include <vector>

namespace flameprobe {

namespace {

constexpr std::string_view suffix = ".dwo";

// Columns of the index; the first edition (version 2) numbers those that matter here the same way, but has no range
// lists.
constexpr std::uint32_t column_info = 1, column_abbrev = 3, column_str_offsets = 6, column_rnglists = 8;

std::unique_ptr<SplitUnit> matching_unit(std::unique_ptr<ElfFile> elf, const DwarfSections& sections,
                                         const DwarfUnit& skeleton) {
    auto split = std::make_unique<SplitUnit>();
    split->elf = std::move(elf);
    split->file = std::make_unique<DwarfFile>(sections, skeleton);
    for (const DwarfUnit& unit : split->file->units())
        if (unit.first_die != 0 && unit.dwo_id == skeleton.dwo_id) split->unit = &unit;
    return split->unit == nullptr ? nullptr : std::move(split);
}

Bytes share(Bytes section, std::uint64_t offset, std::uint64_t size) {
    return offset <= section.size() && size <= section.size() - offset ? section.subspan(offset, size) : Bytes{};
}

struct IndexHeader {
    std::uint32_t version = 0, columns = 0, units = 0, slots = 0;
};

IndexHeader read_index_header(ByteCursor& cursor) {
    IndexHeader header;
    header.version = cursor.u32() & 0xffff;  // DWARF 5 made it two bytes, and two of padding
    header.columns = cursor.u32();
    header.units = cursor.u32();
    header.slots = cursor.u32();
    return header;
}

void set_column(DwarfSections& unit, const DwarfSections& all, const IndexHeader& header, std::uint32_t column,
                std::uint64_t offset, std::uint64_t size) {
    if (column == column_info) unit.info = share(all.info, offset, size);
    if (column == column_abbrev) unit.abbrev = share(all.abbrev, offset, size);
    if (column == column_str_offsets) unit.str_offsets = share(all.str_offsets, offset, size);
    if (column == column_rnglists && header.version >= 5) unit.rnglists = share(all.rnglists, offset, size);
}

}  // namespace

SplitDwarf::SplitDwarf(const std::string& program, const ElfFile& debug_file, const DebugFileSearch& search)
    : program_directory_(program.substr(0, program.rfind('/') + 1)), access_(search.access) {
    for (const std::string& path : {program + ".dwp", debug_file.path() + ".dwp"}) {
        auto package = ElfFile::open(path, access_);
        if (!package) continue;
        package_ = std::move(*package);
        read_index();
        return;
    }
}

void SplitDwarf::read_index() {
    const DwarfSections all = DwarfSections::of(*package_, suffix);
    const Bytes index = package_->contents(".debug_cu_index");
    ByteCursor cursor(index);
    const IndexHeader header = read_index_header(cursor);
    const std::uint64_t signatures = cursor.offset(), rows = signatures + std::uint64_t{header.slots} * 8;
    const std::uint64_t columns = rows + std::uint64_t{header.slots} * 4;
    const std::uint64_t row_size = std::uint64_t{header.columns} * 4, offsets = columns + row_size;
    const std::uint64_t sizes = offsets + row_size * header.units;
    if (header.columns > 16 || sizes > index.size()) return;

    for (std::uint64_t slot = 0; slot < header.slots; ++slot) {
        const std::uint64_t id = ByteCursor(index, signatures + slot * 8).u64();
        const std::uint32_t row = ByteCursor(index, rows + slot * 4).u32();  // counts from 1; 0 is an empty slot
        if (row == 0 || row > header.units) continue;
        DwarfSections unit;
        unit.str = all.str;
        for (std::uint64_t i = 0; i < header.columns; ++i) {
            const std::uint64_t cell = (row - 1) * row_size + i * 4;
            set_column(unit, all, header, ByteCursor(index, columns + i * 4).u32(),
                       ByteCursor(index, offsets + cell).u32(), ByteCursor(index, sizes + cell).u32());
        }
        package_units_.emplace(id, unit);
    }
}

std::unique_ptr<SplitUnit> SplitDwarf::find(const DwarfUnit& skeleton) const {
    auto split = in_package(skeleton);
    if (!split) split = in_file(skeleton);
    if (!split) {
        const std::lock_guard lock(mutex_);
        if (missing_++ == 0) missing_name_ = skeleton.dwo_name;
    }
    return split;
}

std::unique_ptr<SplitUnit> SplitDwarf::in_package(const DwarfUnit& skeleton) const {
    const auto found = package_units_.find(skeleton.dwo_id);
    return found == package_units_.end() ? nullptr : matching_unit(nullptr, found->second, skeleton);
}

std::unique_ptr<SplitUnit> SplitDwarf::in_file(const DwarfUnit& skeleton) const {
    const std::string name(skeleton.dwo_name);
    std::vector<std::string> paths;
    if (!name.starts_with('/'))
        paths.push_back(std::string(skeleton.comp_dir) + "/" + name);
    else
        paths.push_back(name);
    // Where the program was moved together with its files.
    if (!name.starts_with('/')) paths.push_back(program_directory_ + name);
    paths.push_back(program_directory_ + name.substr(name.rfind('/') + 1));
    for (const std::string& path : paths) {
        auto elf = ElfFile::open(path, access_);
        if (!elf) continue;
        const DwarfSections sections = DwarfSections::of(**elf, suffix);
        if (auto split = matching_unit(std::move(*elf), sections, skeleton)) return split;
    }
    return nullptr;
}

std::pair<std::size_t, std::string> SplitDwarf::missing() const {
    const std::lock_guard lock(mutex_);
    return {missing_, missing_name_};
}

}  // namespace flameprobe
