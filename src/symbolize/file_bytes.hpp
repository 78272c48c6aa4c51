// The bytes of a file, mapped or read. A private mapping is the cheapest, but raises SIGBUS when the file is truncated
// meanwhile, so files of other containers, which others may truncate, are read onto the heap, section by section.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/memory_map.hpp"
#include "base/regular_file.hpp"
#include "base/result.hpp"
#include "symbolize/string_table.hpp"

namespace flameprobe {

/// How files are read, and in which root directory their paths are looked up.
struct FileAccess {
    enum How : std::uint8_t { read, map };
    // NOLINTNEXTLINE(google-explicit-constructor)
    FileAccess(How how_to_read, int root_directory = -1) : how(how_to_read), root(root_directory) {}

    How how;
    int root;  // a descriptor of the directory that paths and links below it begin at; -1: this process's own. Borrowed
};

using Bytes = std::span<const std::byte>;

inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Views stay valid as long as the FileBytes. `view` may be called from several threads.
class FileBytes {
public:
    /// Regular files only: a FIFO or a device under a hostile path must not block.
    static Result<std::unique_ptr<FileBytes>> open(const std::string& path, FileAccess access);
    static std::unique_ptr<FileBytes> from_memory(std::string bytes);
    /// Borrows memory that outlives the FileBytes.
    static std::unique_ptr<FileBytes> borrow(Bytes bytes);

    std::uint64_t size() const { return size_; }
    /// When it was opened; not known of memory.
    const FileIdentity& identity() const { return identity_; }
    bool holds(std::uint64_t offset, std::uint64_t size) const { return offset <= size_ && size <= size_ - offset; }
    /// Empty if the range is not wholly inside the file, or cannot be read.
    Bytes view(std::uint64_t offset, std::uint64_t size) const;
    /// The text at an offset, up to a NUL, or else the `most` bytes that it may have. Of a file that is read it takes
    /// memory for the text alone, and neighbours come from one reading. Empty if it begins outside of the file.
    std::string_view text(std::uint64_t offset, std::uint64_t most) const;
    /// Reads a range into `out`, without keeping it. False if the range cannot be read whole.
    bool read_into(std::uint64_t offset, std::span<std::byte> out) const;
    /// The file was opened with FileAccess::map.
    bool can_map() const { return static_cast<bool>(map_); }
    /// Replaces the pages of `out`, which lie in a private mapping of the caller's and are of no other use, by the
    /// file's. `offset` must be as far into its page as `out` is. False if that fails; only where can_map().
    bool map_over(std::uint64_t offset, std::span<std::byte> out) const;

private:
    Bytes read(std::uint64_t offset, std::uint64_t size) const;
    std::optional<std::string_view> text_in_piece(std::uint64_t offset, std::uint64_t most) const;

    std::uint64_t size_ = 0;
    FileIdentity identity_;
    MemoryMap map_;
    std::string memory_;
    Bytes whole_;  // of map_, memory_ or borrowed; empty where every view is read from file_
    Descriptor file_;
    mutable std::mutex mutex_;
    mutable std::deque<std::unique_ptr<std::byte[]>> buffers_;
    mutable std::vector<std::byte> piece_;   // where text() read last
    mutable std::uint64_t piece_begin_ = 0;  // in the file
    mutable StringTable texts_;
};

}  // namespace flameprobe
