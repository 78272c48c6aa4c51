#include <algorithm>
#include <array>
#include <string_view>

#include "base/byte_reader.hpp"
#include "base/output_directory.hpp"
#include "base/paths.hpp"
#include "symbolize/debug_info.hpp"

namespace flameprobe {

namespace {

Bytes share(Bytes section, std::uint64_t offset, std::uint64_t size) {
    return offset <= section.size() && size <= section.size() - offset ? section.subspan(offset, size) : Bytes{};
}
Bytes from(Bytes section, std::uint64_t offset) { return section.subspan(std::min(offset, section.size())); }

/// The image's names for the sections of a .dwo; a section that it does not have is empty.
DebugImage::Parts sections_of(const ElfFile& file) {
    DebugImage::Parts parts;
    for (const std::string_view name :
         {".debug_info", ".debug_abbrev", ".debug_str", ".debug_str_offsets", ".debug_rnglists"})
        parts.emplace(name, file.contents(std::string(name) + ".dwo"));
    return parts;
}

std::unique_ptr<SplitUnit> matching_unit(DebugImage::Parts parts, const Skeleton& skeleton) {
    std::string ranges(split_ranges_shift, '\0');
    ranges.append(as_text(skeleton.ranges));
    parts.emplace(".debug_addr", skeleton.addresses);
    if (!skeleton.ranges.empty()) parts.emplace(".debug_ranges", std::as_bytes(std::span(ranges)));
    auto split = std::make_unique<SplitUnit>();
    split->image = DebugImage::of(parts);
    split->dwarf = begin_dwarf(split->image);
    if (!split->dwarf) return nullptr;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die root;
    while (::dwarf_get_units(split->dwarf.get(), unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
        std::uint64_t id = 0;
        if (::dwarf_tag(&root) != DW_TAG_compile_unit ||
            ::dwarf_cu_info(unit, nullptr, nullptr, nullptr, nullptr, &id, nullptr, nullptr) != 0 || id != skeleton.id)
            continue;
        split->unit = {root, &split->image, skeleton.low_pc};
        return split;
    }
    return nullptr;
}

const char* split_name(const Dwarf_Die& skeleton) {
    const char* const name = text_of(skeleton, DW_AT_dwo_name);
    return name != nullptr ? name : text_of(skeleton, DW_AT_GNU_dwo_name);
}

struct IndexHeader {
    std::uint32_t version = 0, columns = 0, units = 0, slots = 0;
};

IndexHeader read_index_header(ByteReader& cursor) {
    IndexHeader header;
    header.version = cursor.u32() & 0xffff;  // DWARF 5 made it two bytes, and two of padding
    header.columns = cursor.u32();
    header.units = cursor.u32();
    header.slots = cursor.u32();
    return header;
}

/// The section of a column; empty if it is not used here.
std::string_view section_of_column(std::uint32_t column, const IndexHeader& header) {
    // DWARF 5, table 7.1. The index's first version (2) has the same numbers for those used here, but no range lists.
    constexpr std::array<std::string_view, 9> sections = {"", ".debug_info",        "", ".debug_abbrev",  "",
                                                          "", ".debug_str_offsets", "", ".debug_rnglists"};
    constexpr std::uint32_t range_lists = 8;
    const bool known = column < sections.size() && (header.version >= 5 || column != range_lists);
    return known ? sections[column] : std::string_view();
}

}  // namespace

std::optional<Skeleton> Skeleton::of(Dwarf_Die unit, const DebugImage& image) {
    const char* const name = split_name(unit);
    if (name == nullptr) return std::nullopt;
    Skeleton skeleton;
    skeleton.name = name;
    Dwarf_Half version = 0;
    ::dwarf_cu_info(unit.cu, &version, nullptr, nullptr, nullptr, &skeleton.id, nullptr, nullptr);
    if (const char* const directory = text_of(unit, DW_AT_comp_dir); directory != nullptr)
        skeleton.directory = directory;
    Dwarf_Addr low = 0;
    if (::dwarf_lowpc(&unit, &low) == 0) skeleton.low_pc = low;
    const unsigned base = version < 5 ? DW_AT_GNU_addr_base : DW_AT_addr_base;
    skeleton.addresses = from(image.section(".debug_addr"), number_of(unit, base));
    if (version < 5) skeleton.ranges = from(image.section(".debug_ranges"), number_of(unit, DW_AT_GNU_ranges_base));
    return skeleton;
}

SplitDwarf::SplitDwarf(const std::string& program, const ElfFile& debug_file, const DebugFileSearch& search)
    : program_(program), debug_file_(debug_file.path()), root_(search.root) {}

void SplitDwarf::open_package() {
    if (std::exchange(package_opened_, true)) return;
    for (const std::string& path : {program_ + ".dwp", debug_file_ + ".dwp"}) {
        auto package = ElfFile::open(path, root_);
        if (!package) continue;
        package_ = std::move(*package);
        return read_index();
    }
}

void SplitDwarf::read_index() {
    const DebugImage::Parts all = sections_of(*package_);
    const Bytes index = package_->contents(".debug_cu_index");
    ByteReader cursor(index);
    const IndexHeader header = read_index_header(cursor);
    const std::uint64_t signatures = cursor.position(), rows = signatures + std::uint64_t{header.slots} * 8;
    const std::uint64_t columns = rows + std::uint64_t{header.slots} * 4;
    const std::uint64_t row_size = std::uint64_t{header.columns} * 4, offsets = columns + row_size;
    const std::uint64_t sizes = offsets + row_size * header.units;
    if (header.columns > 16 || sizes > index.size()) return;

    for (std::uint64_t slot = 0; slot < header.slots; ++slot) {
        const std::uint64_t id = ByteReader(index, signatures + slot * 8).u64();
        const std::uint32_t row = ByteReader(index, rows + slot * 4).u32();  // counts from 1; 0 is an empty slot
        if (row == 0 || row > header.units) continue;
        DebugImage::Parts unit = {{".debug_str", all.at(".debug_str")}};
        for (std::uint64_t i = 0; i < header.columns; ++i) {
            const std::uint64_t cell = (row - 1) * row_size + i * 4;
            const std::string_view name = section_of_column(ByteReader(index, columns + i * 4).u32(), header);
            if (name.empty()) continue;
            unit.emplace(name, share(all.at(name), ByteReader(index, offsets + cell).u32(),
                                     ByteReader(index, sizes + cell).u32()));
        }
        package_units_.emplace(id, std::move(unit));
    }
}

std::unique_ptr<SplitUnit> SplitDwarf::find(const Skeleton& skeleton) {
    auto split = in_package(skeleton);
    if (!split) split = in_file(skeleton);
    if (!split) {
        const std::lock_guard lock(mutex_);
        if (missing_++ == 0) missing_name_ = skeleton.name;
    }
    return split;
}

std::unique_ptr<SplitUnit> SplitDwarf::in_package(const Skeleton& skeleton) {
    const DebugImage::Parts* parts = nullptr;
    {
        const std::lock_guard lock(mutex_);
        open_package();
        if (const auto found = package_units_.find(skeleton.id); found != package_units_.end()) parts = &found->second;
    }
    return parts == nullptr ? nullptr : matching_unit(*parts, skeleton);
}

std::unique_ptr<SplitUnit> SplitDwarf::in_file(const Skeleton& skeleton) const {
    const std::string& name = skeleton.name;
    const bool whole = name.starts_with('/');
    const std::string beside(directory_of(program_));
    std::vector<std::string> paths = {whole ? name : skeleton.directory + "/" + name};
    // Where the program was moved together with its files.
    if (!whole) paths.push_back(beside + name);
    paths.push_back(beside + last_name(name));
    for (const std::string& path : paths) {
        auto elf = ElfFile::open(path, root_);
        if (!elf) continue;
        if (auto split = matching_unit(sections_of(**elf), skeleton)) return split;
    }
    return nullptr;
}

std::pair<std::size_t, std::string> SplitDwarf::missing() const {
    const std::lock_guard lock(mutex_);
    return {missing_, missing_name_};
}

}  // namespace flameprobe
