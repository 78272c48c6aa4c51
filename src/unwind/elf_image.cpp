#include "unwind/elf_image.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/descriptor.hpp"

namespace flameprobe {
namespace {

bool same_file(const CodeRegion& region, const struct stat& found, const ElfImage& image) {
    if (!region.build_id.empty()) return image.build_id() == region.build_id;
    if (region.inode != 0) return found.st_ino == region.inode && found.st_dev == region.device;
    return true;
}

}  // namespace

std::optional<ElfImage> ElfImage::from_file(const CodeRegion& region) {
    if (region.kind != RegionKind::file || elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
    // O_NONBLOCK: the path may have become a FIFO meanwhile, and the collector must not hang on it.
    Descriptor file(::open(region.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    // Not ELF_C_READ_MMAP: a file that the host's owner truncates under us would turn into SIGBUS.
    Elf* const elf = ::elf_begin(file.get(), ELF_C_READ, nullptr);
    if (elf == nullptr) return std::nullopt;
    ElfImage image(elf, file.release(), MemoryMap());
    if (::elf_kind(elf) != ELF_K_ELF || !same_file(region, status, image)) return std::nullopt;
    return image;
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
    : elf_(std::exchange(other.elf_, nullptr)), fd_(std::exchange(other.fd_, -1)), bytes_(std::move(other.bytes_)) {}

ElfImage& ElfImage::operator=(ElfImage&& other) noexcept {
    std::swap(elf_, other.elf_);
    std::swap(fd_, other.fd_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

ElfImage::~ElfImage() {
    if (elf_ != nullptr) ::elf_end(elf_);
    if (fd_ >= 0) ::close(fd_);
}

std::optional<std::uint64_t> ElfImage::bias(const CodeRegion& region) const {
    std::size_t count = 0;
    if (::elf_getphdrnum(elf_, &count) != 0) return std::nullopt;
    // The kernel tells of no file behind the vdso, and whatever offset it gives has no meaning.
    const std::uint64_t file_offset = region.kind == RegionKind::vdso ? 0 : region.file_offset;
    std::optional<std::uint64_t> found;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (::gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
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
    std::size_t count = 0;
    if (::elf_getphdrnum(elf_, &count) != 0) return {};
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (::gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_NOTE) continue;
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

}  // namespace flameprobe
