#include "symbolize/debug_image.hpp"

#include <elf.h>
#include <libelf.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "symbolize/file_bytes.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t most_section_bytes = std::uint64_t{1} << 40;

std::uint64_t whole_pages(std::uint64_t size) { return (size + page_bytes() - 1) / page_bytes() * page_bytes(); }

constexpr std::array<std::string_view, 9> section_names = {".debug_info",     ".debug_abbrev",   ".debug_line",
                                                           ".debug_line_str", ".debug_str",      ".debug_str_offsets",
                                                           ".debug_addr",     ".debug_rnglists", ".debug_ranges"};

}  // namespace

std::uint64_t DebugImage::size_of(const ElfFile& file) {
    std::uint64_t size = 0;
    for (const std::string_view name : section_names) size += file.contents_size(name);
    return size;
}

DebugImage DebugImage::of(const ElfFile& file) {
    DebugImage image;
    std::vector<NamedSection> slots;
    std::vector<const ElfSection*> sections;
    const bool can_map = file.bytes().can_map();
    for (const std::string_view name : section_names) {
        const ElfSection* section = file.find(name);
        const std::uint64_t size = file.contents_size(name);
        if (size == 0 || size > most_section_bytes) continue;
        if (!file.bytes().holds(section->offset, section->size)) continue;
        const bool compressed = (section->flags & SHF_COMPRESSED) != 0;
        sections.push_back(section);
        slots.push_back({name, can_map && !compressed ? section->offset % page_bytes() : 0, size});
    }
    image.reserve(std::move(slots));
    for (std::size_t i = 0; i < sections.size(); ++i) {
        NamedSection& slot = image.slots_[i];
        bool whole = false;
        if ((sections[i]->flags & SHF_COMPRESSED) != 0) {
            const std::string text = decompress_section(file.bytes().view(sections[i]->offset, sections[i]->size));
            whole = text.size() == slot.size;
            if (whole) std::memcpy(image.bytes(slot).data(), text.data(), text.size());
        } else {
            whole = can_map ? file.bytes().map_over(sections[i]->offset, image.bytes(slot))
                            : file.bytes().read_into(sections[i]->offset, image.bytes(slot));
        }
        if (!whole) slot.size = 0;
    }
    image.begin_elf();
    return image;
}

DebugImage DebugImage::of(const Parts& parts) {
    DebugImage image;
    std::vector<NamedSection> slots;
    for (const auto& [name, contents] : parts) slots.push_back({name, 0, contents.size()});
    image.reserve(std::move(slots));
    for (const NamedSection& slot : image.slots_) std::ranges::copy(parts.at(slot.name), image.bytes(slot).begin());
    image.begin_elf();
    return image;
}

void DebugImage::reserve(std::vector<NamedSection> slots) {
    slots_ = std::move(slots);
    std::uint64_t end = page_bytes();  // the first has the headers
    for (NamedSection& slot : slots_) {
        slot.offset += end;
        end = whole_pages(slot.offset + slot.size);
    }
    end += page_bytes();  // libdw 0.188 looks one byte past a line table's header before it checks
    map_ = MemoryMap::reserve(end);
    if (!map_) throw std::bad_alloc();
}

void DebugImage::begin_elf() {
    const std::string head = elf_head(slots_, EM_NONE);
    std::memcpy(map_.data(), head.data(), head.size());
    ::elf_version(EV_CURRENT);
    elf_.reset(::elf_memory(reinterpret_cast<char*>(map_.data()), map_.size()));
}

Bytes DebugImage::section(std::string_view name) const {
    for (const NamedSection& slot : slots_)
        if (slot.name == name) return bytes(slot);
    return {};
}

}  // namespace flameprobe
