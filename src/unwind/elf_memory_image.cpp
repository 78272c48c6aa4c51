// ElfImage::from_memory: the vdso, and files that were deleted, replaced or cannot be read.
#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/self_memory.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t largest_image = std::size_t{4} << 30;

struct Headers {
    Elf64_Ehdr elf{};
    std::vector<Elf64_Phdr> program;
};

bool read_exactly(std::uint64_t address, void* out, std::size_t size) {
    return read_self(address, {static_cast<std::byte*>(out), size}) == size;
}

bool read_headers(std::uint64_t address, Headers& out) {
    if (!read_exactly(address, &out.elf, sizeof out.elf)) return false;
    const bool plausible = std::memcmp(out.elf.e_ident, ELFMAG, SELFMAG) == 0 &&
                           out.elf.e_ident[EI_CLASS] == ELFCLASS64 && out.elf.e_phentsize == sizeof(Elf64_Phdr) &&
                           out.elf.e_phnum > 0 && out.elf.e_phnum < 128;
    if (!plausible) return false;
    out.program.resize(out.elf.e_phnum);
    return read_exactly(address + out.elf.e_phoff, out.program.data(), out.program.size() * sizeof(Elf64_Phdr));
}

/// The bias, if an image whose headers lie at `address` explains that `region` is mapped where it is.
std::optional<std::uint64_t> explain(const Headers& headers, std::uint64_t address, const CodeRegion& region) {
    for (const Elf64_Phdr& first : headers.program) {
        if (first.p_type != PT_LOAD || first.p_offset >= page) continue;
        const std::uint64_t bias = address - (first.p_vaddr - first.p_offset);
        for (const Elf64_Phdr& code : headers.program) {
            const bool covers = code.p_type == PT_LOAD && (code.p_flags & PF_X) != 0 &&
                                region.start < bias + code.p_vaddr + code.p_memsz && region.end > bias + code.p_vaddr;
            const bool agrees = region.kind == RegionKind::vdso ||
                                region.start - region.file_offset == bias + code.p_vaddr - code.p_offset;
            if (covers && agrees) return bias;
        }
    }
    return std::nullopt;
}

/// Copies one range of the file, which lies in `load`, from where it is mapped.
void copy_range(const Elf64_Phdr& load, std::uint64_t bias, std::uint64_t offset, std::uint64_t size,
                const MemoryMap& image) {
    if (offset < load.p_offset || size > load.p_filesz || offset - load.p_offset > load.p_filesz - size) return;
    if (offset > image.size() || size > image.size() - offset) return;
    read_self(bias + load.p_vaddr + (offset - load.p_offset), image.bytes().subspan(offset, size));
}

MemoryMap copy_image(const Headers& headers, std::uint64_t bias) {
    std::uint64_t size = sizeof(Elf64_Ehdr) + headers.program.size() * sizeof(Elf64_Phdr);
    for (const Elf64_Phdr& load : headers.program)
        if (load.p_type == PT_LOAD) size = std::max(size, load.p_offset + load.p_filesz);
    if (size > largest_image) return {};
    // Untouched pages of it cost nothing, so the file's layout can be kept however large the file is.
    void* const memory =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return {};
    MemoryMap image(memory, size);
    for (const Elf64_Phdr& part : headers.program) {
        if (part.p_type != PT_GNU_EH_FRAME && part.p_type != PT_NOTE) continue;
        for (const Elf64_Phdr& load : headers.program) {
            if (load.p_type != PT_LOAD) continue;
            copy_range(load, bias, part.p_offset, part.p_filesz, image);
            // .eh_frame's place and size are told nowhere but in sections, which are not mapped. Linkers put it into
            // the same segment as its index.
            const bool holds = part.p_offset >= load.p_offset && part.p_offset < load.p_offset + load.p_filesz;
            if (part.p_type == PT_GNU_EH_FRAME && holds) copy_range(load, bias, load.p_offset, load.p_filesz, image);
        }
    }
    Elf64_Ehdr without_sections = headers.elf;
    without_sections.e_phoff = sizeof(Elf64_Ehdr);
    without_sections.e_shoff = 0;
    without_sections.e_shnum = without_sections.e_shstrndx = 0;
    std::memcpy(image.data(), &without_sections, sizeof without_sections);
    std::memcpy(image.data() + sizeof without_sections, headers.program.data(),
                headers.program.size() * sizeof(Elf64_Phdr));
    return image;
}

}  // namespace

std::optional<ElfImage> ElfImage::from_memory(const CodeRegion& region) {
    // Usually the headers lie `file_offset` below the code. Linkers that put a page between segments (lld, gold, mold)
    // leave them a few pages further down.
    constexpr std::uint64_t pages_to_search = 64;
    const std::uint64_t expected = region.kind == RegionKind::vdso ? region.start : region.start - region.file_offset;
    Headers headers;
    for (std::uint64_t i = 0; i < pages_to_search && expected >= i * page; ++i) {
        const std::uint64_t address = expected - i * page;
        if (!read_headers(address, headers)) continue;
        const auto bias = explain(headers, address, region);
        if (bias) return from_bytes(copy_image(headers, *bias));
    }
    return std::nullopt;
}

}  // namespace flameprobe
