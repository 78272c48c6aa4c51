#include "unwind/frame_sections.hpp"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/debug_link.hpp"
#include "base/elf_head.hpp"

namespace flameprobe {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t most_table_bytes = std::uint64_t{4} << 30;

/// Where the two sections lie in the file: the index, and all from the first of them to the end of the segment that
/// holds both.
struct Sections {
    Elf64_Phdr index{};
    std::uint64_t first = 0, end = 0;
};

std::optional<Sections> sections_of(const ElfImage& image) {
    const auto headers = image.program_headers();
    const auto index = std::find_if(headers.begin(), headers.end(),
                                    [](const Elf64_Phdr& header) { return header.p_type == PT_GNU_EH_FRAME; });
    // Version, three encodings, and the distance to .eh_frame (LSB 5.0, section 10.6.2).
    struct {
        std::uint8_t version, frame_encoding, count_encoding, table_encoding;
        std::int32_t distance;
    } start{};
    if (index == headers.end() || index->p_filesz < sizeof start) return std::nullopt;
    if (image.read(index->p_offset, std::as_writable_bytes(std::span(&start, 1))) != sizeof start ||
        start.frame_encoding != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
        return std::nullopt;
    const std::uint64_t frames = index->p_vaddr + 4 + static_cast<std::uint64_t>(std::int64_t{start.distance});
    const auto load = std::find_if(headers.begin(), headers.end(), [&](const Elf64_Phdr& header) {
        const auto holds = [&](std::uint64_t address) {
            return address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz;
        };
        return header.p_type == PT_LOAD && holds(index->p_vaddr) && holds(frames) &&
               index->p_filesz <= header.p_filesz - (index->p_vaddr - header.p_vaddr) &&
               index->p_offset - header.p_offset == index->p_vaddr - header.p_vaddr;
    });
    if (load == headers.end()) return std::nullopt;
    const std::uint64_t first = std::min(index->p_offset, frames - load->p_vaddr + load->p_offset);
    const std::uint64_t end = load->p_offset + load->p_filesz;
    if (end < first || end - first > most_table_bytes) return std::nullopt;
    return Sections{*index, first / page_bytes * page_bytes, end};
}

}  // namespace

// Pages that are never read cost nothing, however large the tables are.
std::optional<FramePages> FramePages::of(const ElfImage& image) {
    const auto sections = sections_of(image);
    GElf_Ehdr file;
    if (!sections || ::gelf_getehdr(image.elf(), &file) == nullptr || file.e_ident[EI_CLASS] != ELFCLASS64)
        return std::nullopt;
    const std::uint64_t size = page_bytes + (sections->end - sections->first);
    MemoryMap map = MemoryMap::reserve(size);
    if (!map) return std::nullopt;
    const auto bytes = map.bytes();
    file.e_phoff = sizeof file;
    file.e_phnum = 1;
    file.e_shoff = file.e_shnum = file.e_shstrndx = 0;
    Elf64_Phdr index = sections->index;
    index.p_offset = index.p_offset - sections->first + page_bytes;
    std::memcpy(bytes.data(), &file, sizeof file);
    std::memcpy(bytes.data() + sizeof file, &index, sizeof index);
    auto pages = ElfImage::from_bytes(std::move(map));
    if (!pages) return std::nullopt;
    FramePages frames(image, std::move(*pages), bytes, sections->first);
    frames.distance_ = index.p_offset - index.p_vaddr;
    if (!frames.fill(index.p_offset, index.p_filesz)) return std::nullopt;
    frames.index_ = {bytes.subspan(index.p_offset, index.p_filesz), index.p_vaddr};
    if (frames.index_.size() == 0) return std::nullopt;
    return frames;
}

FramePages::FramePages(const ElfImage& image, ElfImage pages, std::span<std::byte> bytes, std::uint64_t first)
    : image_(&image),
      pages_(std::move(pages)),
      bytes_(bytes),
      first_(first),
      is_filled_(bytes.size() / page_bytes + 1) {
    is_filled_[0] = true;
}

void FramePages::want(std::uint64_t address) {
    const auto entry = index_.entry_of(address);
    if (!entry) return;
    const std::uint64_t description = entry->description + distance_;
    const auto back = fill_entry(description);
    if (back && *back != 0) static_cast<void>(fill_entry(description + 4 - *back));
}

// The length of an entry, and then how far back its CIE lies (LSB 5.0, section 10.6.1). Gives the latter.
std::optional<std::uint64_t> FramePages::fill_entry(std::uint64_t at) {
    std::uint32_t words[2];
    if (!fill(at, sizeof words)) return std::nullopt;
    std::memcpy(words, bytes_.data() + at, sizeof words);
    constexpr std::uint32_t is_longer = 0xffffffff;  // an extended length: no compiler writes one
    const std::uint64_t size = words[0] == is_longer ? bytes_.size() - at : 4 + std::uint64_t{words[0]};
    if (!fill(at, std::min(size, bytes_.size() - at))) return std::nullopt;
    return words[1];
}

bool FramePages::fill(std::uint64_t at, std::uint64_t size) {
    if (at > bytes_.size() || size > bytes_.size() - at) return false;
    const std::uint64_t end = (at + size + page_bytes - 1) / page_bytes;
    for (std::uint64_t number = at / page_bytes; number < end; ++number) {
        if (is_filled_[number]) continue;
        std::uint64_t behind = number + 1;
        while (behind < end && !is_filled_[behind]) ++behind;
        const std::uint64_t from = number * page_bytes,
                            to = std::min<std::uint64_t>(behind * page_bytes, bytes_.size());
        const auto wanted = bytes_.subspan(from, to - from);
        if (image_->read(first_ + from - page_bytes, wanted) != wanted.size()) return false;
        for (; number < behind; ++number) is_filled_[number] = true;
    }
    return true;
}

namespace {

constexpr char section_name[] = ".debug_frame";
constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;

/// The section's bytes, decompressed; null if there are none.
const Elf_Data* contents(Elf_Scn* section) {
    GElf_Shdr header;
    if (section == nullptr || ::gelf_getshdr(section, &header) == nullptr) return nullptr;
    if ((header.sh_flags & SHF_COMPRESSED) != 0) {
        GElf_Chdr compressed;
        if (::gelf_getchdr(section, &compressed) == nullptr || compressed.ch_size > most_bytes) return nullptr;
        if (::elf_compress(section, 0, 0) < 0) return nullptr;
    } else if (header.sh_size > most_bytes) {
        return nullptr;
    }
    const Elf_Data* const data = ::elf_getdata(section, nullptr);
    return data != nullptr && data->d_buf != nullptr && data->d_size <= most_bytes ? data : nullptr;
}

/// An ELF file of this machine that has one section.
MemoryMap image_of(std::span<const std::byte> section, std::uint16_t machine) {
    constexpr std::uint64_t behind_head = 4096;
    MemoryMap image = MemoryMap::reserve(behind_head + section.size());
    if (!image) return image;
    const std::string head = elf_head(std::array{NamedSection{section_name, behind_head, section.size()}}, machine);
    std::memcpy(image.data(), head.data(), head.size());
    std::memcpy(image.data() + behind_head, section.data(), section.size());
    return image;
}

DebugLink debug_link(const ElfImage& image) {
    const Elf_Data* const data = contents(image.section(".gnu_debuglink"));
    return data == nullptr ? DebugLink() : DebugLink::in({static_cast<const char*>(data->d_buf), data->d_size});
}

std::optional<ElfImage> open(const std::string& path, const std::string& build_id) {
    CodeRegion file;
    file.kind = RegionKind::file;
    file.path = path;
    file.build_id = build_id;
    auto image = ElfImage::from_file(file);
    if (image && image->section(section_name) == nullptr) image.reset();
    return image;
}

}  // namespace

void DebugFrame::End::operator()(Elf* elf) const { ::elf_end(elf); }
void DebugFrame::End::operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }

DebugFrame::DebugFrame(const ElfImage& image, const std::string& path) {
    const std::vector<std::string> directories = {"/usr/lib/debug"};
    if (read(image)) return;
    const std::string build_id = image.build_id();
    if (build_id.size() > 1) {
        for (const std::string& directory : directories)
            if (const auto found = open(debug_path_by_id(directory, build_id), build_id); found && read(*found)) return;
    }
    const DebugLink link = debug_link(image);
    for (const std::string& candidate : link.places(path, directories)) {
        const auto found = open(candidate, build_id);
        const auto read_found = [&](std::uint64_t at, std::span<std::byte> out) { return found->read(at, out); };
        if (found && (!build_id.empty() || link.leads_to(read_found)) && read(*found)) return;
    }
}

bool DebugFrame::read(const ElfImage& image) {
    GElf_Ehdr header;
    const Elf_Data* const data = contents(image.section(section_name));
    if (data == nullptr || ::gelf_getehdr(image.elf(), &header) == nullptr) return false;
    bytes_ = image_of({static_cast<const std::byte*>(data->d_buf), data->d_size}, header.e_machine);
    if (!bytes_) return false;
    elf_.reset(::elf_memory(reinterpret_cast<char*>(bytes_.data()), bytes_.size()));
    if (elf_) dwarf_.reset(::dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr));
    if (dwarf_) cfi_ = ::dwarf_getcfi(dwarf_.get());
    return cfi_ != nullptr;
}

}  // namespace flameprobe
