#include "unwind/debug_frame.hpp"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/paths.hpp"

namespace flameprobe {
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
    struct {
        Elf64_Ehdr elf{};
        std::array<Elf64_Shdr, 3> sections{};
        char names[32] = "\0.debug_frame\0.shstrtab";
    } head;
    const std::uint64_t names_at = reinterpret_cast<char*>(head.names) - reinterpret_cast<char*>(&head);
    MemoryMap image = MemoryMap::reserve(sizeof head + section.size());
    if (!image) return image;
    std::memcpy(head.elf.e_ident, ELFMAG, SELFMAG);
    head.elf.e_ident[EI_CLASS] = ELFCLASS64;
    head.elf.e_ident[EI_DATA] = ELFDATA2LSB;
    head.elf.e_ident[EI_VERSION] = EV_CURRENT;
    head.elf.e_type = ET_DYN;
    head.elf.e_machine = machine;
    head.elf.e_version = EV_CURRENT;
    head.elf.e_ehsize = sizeof head.elf;
    head.elf.e_shoff = sizeof head.elf;
    head.elf.e_shentsize = sizeof(Elf64_Shdr);
    head.elf.e_shnum = 3;
    head.elf.e_shstrndx = 2;
    head.sections[1] = {.sh_name = 1,
                        .sh_type = SHT_PROGBITS,
                        .sh_flags = 0,
                        .sh_addr = 0,
                        .sh_offset = sizeof head,
                        .sh_size = section.size(),
                        .sh_link = 0,
                        .sh_info = 0,
                        .sh_addralign = 1,
                        .sh_entsize = 0};
    head.sections[2] = head.sections[1];
    head.sections[2].sh_name = 1 + sizeof section_name;
    head.sections[2].sh_type = SHT_STRTAB;
    head.sections[2].sh_offset = names_at;
    head.sections[2].sh_size = sizeof head.names;
    std::memcpy(image.data(), &head, sizeof head);
    std::memcpy(image.data() + sizeof head, section.data(), section.size());
    return image;
}

struct DebugLink {
    std::string name;
    std::uint32_t crc = 0;
};

std::optional<DebugLink> debug_link(const ElfImage& image) {
    const Elf_Data* const data = contents(image.section(".gnu_debuglink"));
    if (data == nullptr) return std::nullopt;
    DebugLink link;
    const auto* const text = static_cast<const char*>(data->d_buf);
    link.name.assign(text, ::strnlen(text, data->d_size));
    const std::size_t at = (link.name.size() + 1 + 3) / 4 * 4;
    if (at + sizeof link.crc > data->d_size) return std::nullopt;
    std::memcpy(&link.crc, text + at, sizeof link.crc);
    return link;
}

/// Read in pieces, so that a big file does not stay on the heap.
bool has_crc(const ElfImage& image, std::uint32_t wanted) {
    std::vector<std::byte> piece(64 * 1024);
    uLong crc = ::crc32(0, nullptr, 0);
    for (std::uint64_t at = 0;;) {
        const std::size_t got = image.read(at, piece);
        crc = ::crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(got));
        if (got < piece.size()) return crc == wanted;
        at += got;
    }
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
    const auto link = debug_link(image);
    if (!link) return;
    for (const std::string& candidate : debug_paths_by_link(path, link->name, directories)) {
        const auto found = open(candidate, build_id);
        if (found && (!build_id.empty() || has_crc(*found, link->crc)) && read(*found)) return;
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
