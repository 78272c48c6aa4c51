#include "unwind/elf_image.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_reader.hpp"
#include "base/self_memory.hpp"

namespace flameprobe {
namespace {

/// Whether the region still holds what lies at its offset in a file. Of another file the first piece tells.
bool has_code_of(const CodeRegion& region, int file) {
    constexpr std::size_t piece = 64 * 1024;
    std::vector<std::byte> of_file(piece), mapped(piece);
    for (std::uint64_t at = region.start; at < region.end;) {
        const std::size_t size = std::min<std::uint64_t>(piece, region.end - at);
        const std::size_t there =
            read_at(file, region.file_offset + (at - region.start), std::span(of_file).first(size));
        if (there == 0) return at != region.start;  // the file ends before the region's last page does
        if (read_self(at, std::span(mapped).first(there)) != there) return false;
        if (std::memcmp(of_file.data(), mapped.data(), there) != 0) return false;
        at += there;
    }
    return true;
}

bool same_file(const CodeRegion& region, const struct stat& found, const ElfImage& image, int file) {
    if (!region.build_id.empty()) return image.build_id() == region.build_id;
    if (region.inode == 0) return true;
    return (found.st_ino == region.inode && found.st_dev == region.device) || has_code_of(region, file);
}

constexpr std::uint64_t page = 4096;
constexpr std::size_t largest_image = std::size_t{4} << 30, largest_whole_image = std::size_t{256} << 20;

struct Headers {
    Elf64_Ehdr elf{};
    std::vector<Elf64_Phdr> program;
};

bool read_exactly(std::uint64_t address, void* out, std::size_t size) {
    return read_self(address, {static_cast<std::byte*>(out), size}) == size;
}

bool read_mapped_headers(std::uint64_t address, Headers& out) {
    if (!read_exactly(address, &out.elf, sizeof out.elf)) return false;
    const bool plausible = std::memcmp(out.elf.e_ident, ELFMAG, SELFMAG) == 0 &&
                           out.elf.e_ident[EI_CLASS] == ELFCLASS64 && out.elf.e_phentsize == sizeof(Elf64_Phdr) &&
                           out.elf.e_phnum > 0 && out.elf.e_phnum < 128;
    if (!plausible) return false;
    out.program.resize(out.elf.e_phnum);
    return read_exactly(address + out.elf.e_phoff, out.program.data(), out.program.size() * sizeof(Elf64_Phdr));
}

/// The bias of the image whose headers lie at `address`, if `region` is a part of that image.
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

/// The dynamic linker has added the load address to pointers in PT_DYNAMIC; in a file they stand without it.
void unrelocate_dynamic(const Headers& headers, std::uint64_t bias, const MemoryMap& image) {
    for (const Elf64_Phdr& part : headers.program) {
        if (part.p_type != PT_DYNAMIC || part.p_offset > image.size()) continue;
        const std::uint64_t end = part.p_offset + std::min(part.p_filesz, image.size() - part.p_offset);
        for (std::uint64_t at = part.p_offset; at + sizeof(Elf64_Dyn) <= end; at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn entry;
            std::memcpy(&entry, image.data() + at, sizeof entry);
            const bool pointer = entry.d_tag == DT_SYMTAB || entry.d_tag == DT_STRTAB;
            if (pointer && entry.d_un.d_ptr >= bias) entry.d_un.d_ptr -= bias;
            std::memcpy(image.data() + at, &entry, sizeof entry);
        }
    }
}

/// Of a segment all, or the parts that tables are made of.
void copy_segment(const Headers& headers, const Elf64_Phdr& load, std::uint64_t bias, ElfImage::Parts parts,
                  const MemoryMap& image) {
    // .eh_frame's place and size are in the section headers only, which are not mapped. Linkers put it into the same
    // segment as its index.
    const auto holds_index = [&](const Elf64_Phdr& part) {
        return part.p_type == PT_GNU_EH_FRAME && part.p_offset >= load.p_offset &&
               part.p_offset < load.p_offset + load.p_filesz;
    };
    if (parts == ElfImage::Parts::all || std::ranges::any_of(headers.program, holds_index))
        return copy_range(load, bias, load.p_offset, load.p_filesz, image);
    for (const Elf64_Phdr& part : headers.program)
        if (part.p_type == PT_NOTE) copy_range(load, bias, part.p_offset, part.p_filesz, image);
}

MemoryMap copy_image(const Headers& headers, std::uint64_t bias, ElfImage::Parts parts) {
    std::uint64_t size = sizeof(Elf64_Ehdr) + headers.program.size() * sizeof(Elf64_Phdr);
    for (const Elf64_Phdr& load : headers.program)
        if (load.p_type == PT_LOAD) size = std::max(size, load.p_offset + load.p_filesz);
    if (size > (parts == ElfImage::Parts::all ? largest_whole_image : largest_image)) return {};
    // Untouched pages of it cost nothing, so the file's layout can be kept however large the file is.
    MemoryMap image = MemoryMap::reserve(size);
    if (!image) return {};
    for (const Elf64_Phdr& load : headers.program)
        if (load.p_type == PT_LOAD) copy_segment(headers, load, bias, parts, image);
    unrelocate_dynamic(headers, bias, image);
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

std::optional<ElfImage> ElfImage::from_file(const CodeRegion& region) {
    if (region.kind != RegionKind::file) return std::nullopt;
    Descriptor file = open_host_file(region.path);
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return std::nullopt;
    // Read, not mapped: a file that the host's owner truncates under us would turn into SIGBUS.
    ElfImage image(std::move(file), MemoryMap());
    if (!image.read_headers() || !same_file(region, status, image, image.file_.get())) return std::nullopt;
    image.identity_ = FileIdentity::of(status);
    return image;
}

bool ElfImage::holds_code_of(const CodeRegion& region) {
    const auto image = from_file(region);
    return image && has_code_of(region, image->file_.get());
}

std::optional<ElfImage> ElfImage::from_memory(const CodeRegion& region, Parts parts) {
    // Usually the headers lie `file_offset` below the code. Linkers that put a page between segments (lld, gold, mold)
    // leave them a few pages further down. A file's first page begins with them.
    const std::uint64_t pages_to_search = region.file_offset == 0 ? 1 : 64;
    const std::uint64_t expected = region.kind == RegionKind::vdso ? region.start : region.start - region.file_offset;
    Headers headers;
    for (std::uint64_t i = 0; i < pages_to_search && expected >= i * page; ++i) {
        const std::uint64_t address = expected - i * page;
        if (!read_mapped_headers(address, headers)) continue;
        const auto bias = explain(headers, address, region);
        if (bias) return from_bytes(copy_image(headers, *bias, parts));
    }
    return std::nullopt;
}

std::optional<ElfImage> ElfImage::from_bytes(MemoryMap bytes) {
    if (!bytes) return std::nullopt;
    ElfImage image(Descriptor(), std::move(bytes));
    if (!image.read_headers()) return std::nullopt;
    return image;
}

template <class T>
std::vector<T> ElfImage::list(std::uint64_t offset, std::uint64_t count) const {
    constexpr std::uint64_t most_bytes = 4U << 20;  // hostile files announce millions
    std::vector<T> items(std::min(count, most_bytes / sizeof(T)));
    items.resize(read(offset, std::as_writable_bytes(std::span(items))) / sizeof(T));
    return items;
}

// A file with more program headers than the field can tell says in its first section header how many there are.
bool ElfImage::read_headers() {
    constexpr std::uint64_t most = 4096;
    if (read(0, std::as_writable_bytes(std::span(&header_, 1))) != sizeof header_) return false;
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
        header_.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    std::uint64_t count = header_.e_phnum;
    if (count == PN_XNUM)
        for (const Elf64_Shdr& first : list<Elf64_Shdr>(header_.e_shoff, 1)) count = first.sh_info;
    if (header_.e_phentsize == sizeof(Elf64_Phdr) && header_.e_phoff != 0)
        program_headers_ = list<Elf64_Phdr>(header_.e_phoff, std::min(count, most));
    return true;
}

std::size_t ElfImage::read(std::uint64_t offset, std::span<std::byte> out) const {
    if (in_memory()) {
        if (offset > bytes_.size()) return 0;
        const std::size_t size = std::min(out.size(), bytes_.size() - offset);
        std::memcpy(out.data(), bytes_.data() + offset, size);
        return size;
    }
    return read_at(file_.get(), offset, out);
}

std::optional<std::uint64_t> ElfImage::bias(const CodeRegion& region) const {
    // The vdso has no file, and whatever offset the kernel gives has no meaning.
    const std::uint64_t file_offset = region.kind == RegionKind::vdso ? 0 : region.file_offset;
    std::optional<std::uint64_t> found;
    for (const Elf64_Phdr& header : program_headers()) {
        if (header.p_type != PT_LOAD) continue;
        // Segments that share a page of the file both cover its offset: the executable one was mapped here.
        const bool covers = file_offset + (region.end - region.start) > header.p_offset &&
                            file_offset < header.p_offset + header.p_filesz;
        if (!covers || (found && (header.p_flags & PF_X) == 0)) continue;
        found = region.start - file_offset - (header.p_vaddr - header.p_offset);
        if ((header.p_flags & PF_X) != 0) break;
    }
    return found;
}

std::string ElfImage::build_id() const {
    for (const Elf64_Phdr& header : program_headers()) {
        if (header.p_type != PT_NOTE) continue;
        const auto notes = list<std::byte>(header.p_offset, header.p_filesz);
        const std::uint64_t alignment = header.p_align == 8 ? 8 : 4;
        ByteReader in(notes);
        const auto padded = [&](std::uint64_t size) {
            const auto bytes = in.take(size);
            in.skip(std::min<std::uint64_t>((0 - in.position()) % alignment, in.remaining()));
            return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        };
        while (in.remaining() >= sizeof(Elf64_Nhdr)) {
            const auto note = in.fixed<Elf64_Nhdr>();
            const std::string name = padded(note.n_namesz), content = padded(note.n_descsz);
            if (note.n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU", 4) && in.ok()) return content;
        }
    }
    return {};
}

std::optional<Elf64_Shdr> ElfImage::section(std::string_view name) const {
    if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
    std::uint64_t count = header_.e_shnum, names_at = header_.e_shstrndx;
    for (const Elf64_Shdr& first : list<Elf64_Shdr>(header_.e_shoff, 1)) {
        if (count == 0) count = first.sh_size;  // more than the field can tell
        if (names_at == SHN_XINDEX) names_at = first.sh_link;
    }
    const auto sections = list<Elf64_Shdr>(header_.e_shoff, count);
    if (names_at >= sections.size()) return std::nullopt;
    const auto names = list<char>(sections[names_at].sh_offset, sections[names_at].sh_size);
    const std::string_view all(names.data(), names.size());
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL || section.sh_name >= all.size()) continue;
        const auto its_name = all.substr(section.sh_name);
        if (its_name.starts_with(name) && its_name.substr(name.size(), 1) == std::string_view("", 1)) return section;
    }
    return std::nullopt;
}

}  // namespace flameprobe
