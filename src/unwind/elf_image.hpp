// The ELF file behind a code region: from disk if that is still the file that was mapped, else out of memory.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_map.hpp"
#include "base/regular_file.hpp"
#include "unwind/code_map.hpp"

struct Elf;
struct Elf_Scn;

namespace flameprobe {

/// Owns an Elf, and the descriptor or the memory that it reads.
class ElfImage {
public:
    /// The file at region.path, or nothing if it is not the one mapped: by build id, else by device and inode, or, as
    /// file systems of layers show others for what is mapped, by the code itself. Where none is known it is taken for
    /// the one mapped.
    static std::optional<ElfImage> from_file(const CodeRegion& region);
    /// For the vdso, and for files that were deleted, replaced or cannot be read. What the loader mapped of it: program
    /// headers, .eh_frame_hdr, .eh_frame and notes; no sections. Or all that is mapped, at most 256 MiB: then there are
    /// the dynamic symbols too.
    enum class Parts { tables, all };
    static std::optional<ElfImage> from_memory(const CodeRegion& region, Parts parts = Parts::tables);
    /// Whether memory holds the code of region.path, and that is still the file that was mapped.
    static bool holds_code_of(const CodeRegion& region);
    static std::optional<ElfImage> from_bytes(MemoryMap bytes);

    ElfImage(ElfImage&& other) noexcept;
    ElfImage& operator=(ElfImage&& other) noexcept;
    ~ElfImage();

    Elf* elf() const { return elf_; }
    /// The file that is read; not known if it is memory.
    const FileIdentity& file() const { return file_; }
    bool in_memory() const { return static_cast<bool>(bytes_); }
    std::size_t size_in_memory() const { return bytes_.size(); }
    /// Copies what lies at `offset` of the file; gives how many bytes there were.
    std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;
    /// Up to the first that cannot be read, and at most 4,096.
    std::vector<Elf64_Phdr> program_headers() const;
    /// What to add to the file's virtual addresses to get the process's; nothing if no PT_LOAD of the file covers the
    /// region's file offset.
    std::optional<std::uint64_t> bias(const CodeRegion& region) const;
    std::string build_id() const;
    /// The section of that name that has contents in the file, or null.
    Elf_Scn* section(std::string_view name) const;

private:
    ElfImage(Elf* elf, int fd, MemoryMap bytes) : elf_(elf), fd_(fd), bytes_(std::move(bytes)) {}

    Elf* elf_ = nullptr;
    int fd_ = -1;  // kept: ELF_C_READ reads parts when they are first wanted
    FileIdentity file_;
    MemoryMap bytes_;
};

}  // namespace flameprobe
