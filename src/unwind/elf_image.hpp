// The ELF file behind a code region: from disk if that is still the file that was mapped, else out of memory.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "base/memory_map.hpp"
#include "base/regular_file.hpp"
#include "unwind/code_map.hpp"

namespace flameprobe {

/// A 64-bit little-endian ELF file, as far as unwinding needs it, and the descriptor or the memory that it is read
/// from. What it says of itself may be wrong: no more than what is there is read.
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

    /// The file that is read; not known if it is memory.
    const FileIdentity& file() const { return identity_; }
    bool in_memory() const { return static_cast<bool>(bytes_); }
    std::size_t size_in_memory() const { return bytes_.size(); }
    /// Copies what lies at `offset` of the file; gives how many bytes there were.
    std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;
    /// At most 4,096.
    const std::vector<Elf64_Phdr>& program_headers() const { return program_headers_; }
    /// What to add to the file's virtual addresses to get the process's; nothing if no PT_LOAD of the file covers the
    /// region's file offset.
    std::optional<std::uint64_t> bias(const CodeRegion& region) const;
    std::string build_id() const;
    /// The section of that name that has contents in the file.
    std::optional<Elf64_Shdr> section(std::string_view name) const;

private:
    ElfImage(Descriptor file, MemoryMap bytes) : file_(std::move(file)), bytes_(std::move(bytes)) {}
    /// False: no such ELF file.
    bool read_headers();
    template <class T>
    std::vector<T> list(std::uint64_t offset, std::uint64_t count) const;

    Descriptor file_;
    FileIdentity identity_;
    MemoryMap bytes_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> program_headers_;
};

}  // namespace flameprobe
