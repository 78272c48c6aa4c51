// The bytes of a file, mapped, or of memory.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/memory_map.hpp"
#include "base/regular_file.hpp"
#include "base/result.hpp"

namespace flameprobe {

using Bytes = std::span<const std::byte>;

inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

inline std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

/// Views stay valid as long as the FileBytes. Any thread.
class FileBytes {
public:
    /// Regular files only: a FIFO or a device under a hostile path must not block. `root`: a descriptor of the
    /// directory that paths and links begin at; -1: this process's own. What others cut off the file while it is mapped
    /// reads as zeros from then on.
    static Result<std::unique_ptr<FileBytes>> open(const std::string& path, int root = -1);
    static std::unique_ptr<FileBytes> from_memory(std::string bytes);
    /// Borrows memory that outlives the FileBytes.
    static std::unique_ptr<FileBytes> borrow(Bytes bytes);

    std::uint64_t size() const { return whole_.size(); }
    /// When it was opened; not known of memory.
    const FileIdentity& identity() const { return identity_; }
    bool holds(std::uint64_t offset, std::uint64_t size) const {
        return offset <= this->size() && size <= this->size() - offset;
    }
    /// Empty if the range is not wholly inside the file.
    Bytes view(std::uint64_t offset, std::uint64_t size) const {
        return holds(offset, size) ? whole_.subspan(offset, size) : Bytes();
    }
    /// The text at an offset, up to a NUL, or else the `most` bytes that it may have. Empty if it begins outside of the
    /// file.
    std::string_view text(std::uint64_t offset, std::uint64_t most) const;
    /// Copies a range, without mapping its pages. False if the range cannot be read whole.
    bool read_into(std::uint64_t offset, std::span<std::byte> out) const;
    /// Whether it is a file, rather than memory.
    bool can_map() const { return static_cast<bool>(map_); }
    /// Replaces the pages of `out`, which lie in a private mapping of the caller's and are of no other use, by the
    /// file's. `offset` must be as far into its page as `out` is. False if that fails; only where can_map().
    bool map_over(std::uint64_t offset, std::span<std::byte> out) const;

private:
    FileIdentity identity_;
    MemoryMap map_;
    std::string memory_;
    Bytes whole_;  // of map_, memory_ or borrowed
    Descriptor file_;
};

// Sections and embedded files that are stored compressed.

/// An SHF_COMPRESSED section (gABI, "Section compression"): zlib or zstd. Empty on any error, and where the header
/// announces more than debug information ever becomes.
std::string decompress_section(Bytes section);
/// An .xz file, as .gnu_debugdata holds. Empty on any error.
std::string decompress_xz(Bytes file);

}  // namespace flameprobe
