#include "unwind/elf_image.hpp"

#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/descriptor.hpp"
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

bool read_headers(std::uint64_t address, Headers& out) {
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
    if (region.kind != RegionKind::file || elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
    Descriptor file = open_host_file(region.path);
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return std::nullopt;
    // Not ELF_C_READ_MMAP: a file that the host's owner truncates under us would turn into SIGBUS.
    Elf* const elf = ::elf_begin(file.get(), ELF_C_READ, nullptr);
    if (elf == nullptr) return std::nullopt;
    ElfImage image(elf, file.release(), MemoryMap());
    if (::elf_kind(elf) != ELF_K_ELF || !same_file(region, status, image, image.fd_)) return std::nullopt;
    image.file_ = FileIdentity::of(status);
    return image;
}

bool ElfImage::holds_code_of(const CodeRegion& region) {
    const auto image = from_file(region);
    return image && has_code_of(region, image->fd_);
}

std::optional<ElfImage> ElfImage::from_memory(const CodeRegion& region, Parts parts) {
    // Usually the headers lie `file_offset` below the code. Linkers that put a page between segments (lld, gold, mold)
    // leave them a few pages further down. A file's first page begins with them.
    const std::uint64_t pages_to_search = region.file_offset == 0 ? 1 : 64;
    const std::uint64_t expected = region.kind == RegionKind::vdso ? region.start : region.start - region.file_offset;
    Headers headers;
    for (std::uint64_t i = 0; i < pages_to_search && expected >= i * page; ++i) {
        const std::uint64_t address = expected - i * page;
        if (!read_headers(address, headers)) continue;
        const auto bias = explain(headers, address, region);
        if (bias) return from_bytes(copy_image(headers, *bias, parts));
    }
    return std::nullopt;
}

std::optional<ElfImage> ElfImage::from_bytes(MemoryMap bytes) {
    if (!bytes || elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
    Elf* const elf = ::elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size());
    if (elf == nullptr) return std::nullopt;
    ElfImage image(elf, -1, std::move(bytes));
    if (::elf_kind(elf) != ELF_K_ELF) return std::nullopt;
    return image;
}

ElfImage::ElfImage(ElfImage&& other) noexcept
    : elf_(std::exchange(other.elf_, nullptr)),
      fd_(std::exchange(other.fd_, -1)),
      file_(other.file_),
      bytes_(std::move(other.bytes_)) {}

ElfImage& ElfImage::operator=(ElfImage&& other) noexcept {
    std::swap(elf_, other.elf_);
    std::swap(fd_, other.fd_);
    std::swap(file_, other.file_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

ElfImage::~ElfImage() {
    if (elf_ != nullptr) ::elf_end(elf_);
    if (fd_ >= 0) ::close(fd_);
}

std::size_t ElfImage::read(std::uint64_t offset, std::span<std::byte> out) const {
    if (in_memory()) {
        if (offset > bytes_.size()) return 0;
        const std::size_t size = std::min(out.size(), bytes_.size() - offset);
        std::memcpy(out.data(), bytes_.data() + offset, size);
        return size;
    }
    return read_at(fd_, offset, out);
}

std::vector<Elf64_Phdr> ElfImage::program_headers() const {
    constexpr std::size_t most = 4096;  // hostile files announce millions
    std::size_t count = 0;
    if (::elf_getphdrnum(elf_, &count) != 0) return {};
    std::vector<Elf64_Phdr> headers;
    for (std::size_t i = 0; i < std::min(count, most); ++i) {
        GElf_Phdr header;
        if (::gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) break;
        headers.push_back(header);
    }
    return headers;
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
        const Elf_Type type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
        Elf_Data* const data =
            ::elf_getdata_rawchunk(elf_, static_cast<std::int64_t>(header.p_offset), header.p_filesz, type);
        GElf_Nhdr note;
        std::size_t name = 0, content = 0, next = 0;
        for (std::size_t at = 0; data != nullptr; at = next) {
            next = ::gelf_getnote(data, at, &note, &name, &content);
            if (next == 0) break;
            const char* const bytes = static_cast<const char*>(data->d_buf);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(bytes + name, "GNU", 4) == 0)
                return std::string(bytes + content, note.n_descsz);
        }
    }
    return {};
}

Elf_Scn* ElfImage::section(std::string_view name) const {
    std::size_t names = 0;
    if (::elf_getshdrstrndx(elf_, &names) != 0) return nullptr;
    for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf_, section)) != nullptr;) {
        GElf_Shdr header;
        if (::gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
        const char* const its_name = ::elf_strptr(elf_, names, header.sh_name);
        if (its_name != nullptr && its_name == name) return section;
    }
    return nullptr;
}

}  // namespace flameprobe
