// Which code lies where in the host's address space, now. Fed by /proc/self/maps once and by the kernel's MMAP2 records
// afterwards; the unwinder and the stack table look addresses up in it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flameprobe {

enum class RegionKind : std::uint8_t { file, vdso, anonymous };

/// One executable mapping. Never changes once added; `id` is unique for the life of the CodeMap and never used again.
struct CodeRegion {
    std::uint32_t id = 0;
    RegionKind kind = RegionKind::anonymous;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    std::string path;      // as the kernel tells it, with " (deleted)" cut off
    std::string build_id;  // raw bytes where the kernel told them, else empty
    /// Device (as st_dev) and inode of the mapped file, to see that a file was replaced; 0 if unknown.
    std::uint64_t device = 0, inode = 0;
    /// Of anonymous memory that took the place of a file's code: that file, as it would lie here.
    std::shared_ptr<const CodeRegion> file;
};

/// One thread only.
class CodeMap {
public:
    /// Adds a region; older ones that it overlaps are cut or dropped. `region.id` is ignored, the map gives a new one.
    const CodeRegion& add(CodeRegion region);
    /// The file whose code lay in [start, end) of this region, laid out as it was there, or null.
    std::shared_ptr<const CodeRegion> file_below(const CodeRegion& region) const;
    /// The region that holds `address`, or null. Pointers stay valid until the region is dropped by `add`.
    const CodeRegion* find(std::uint64_t address) const;
    /// The nearest region that begins below `address`, or null.
    const CodeRegion* before(std::uint64_t address) const;
    /// The lowest address from which code extends without a gap to `address`, at most `most` bytes below it. Adjacent
    /// anonymous regions count as one: a just-in-time compiler splits them when it changes the permissions of a part.
    std::uint64_t code_since(std::uint64_t address, std::uint64_t most) const;
    /// Grows by one with every `add`: a cache by address is to be emptied when it has changed.
    std::uint64_t generation() const { return generation_; }
    const std::vector<std::shared_ptr<const CodeRegion>>& regions() const { return regions_; }

private:
    std::vector<std::shared_ptr<const CodeRegion>> regions_;  // sorted by start, disjoint
    std::uint64_t generation_ = 0;
    std::uint32_t next_id_ = 0;
};

}  // namespace flameprobe
