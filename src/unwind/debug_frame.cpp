#include "unwind/debug_frame.hpp"

#include <elfutils/libdw.h>
#include <gelf.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/debug_link.hpp"
#include "base/elf_head.hpp"

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
