// Which code lies where in the host's address space, now. Fed by /proc/self/maps once, then by the kernel's MMAP2
// records; where no perf event tells of mappings, by further readings (capture/map_watch.hpp). The unwinder and the
// stack table look addresses up in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flameprobe {

struct RawMapping;

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
    const CodeRegion& add(CodeRegion region) {
        region.id = next_id_++;
        region.end = std::max(region.start, region.end);
        Regions pieces;  // what the regions from `first` to `last` become
        const auto first = std::partition_point(regions_.begin(), regions_.end(),
                                                [&](const auto& r) { return r->end <= region.start; });
        const auto last =
            std::partition_point(first, regions_.end(), [&](const auto& r) { return r->start < region.end; });
        if (first != last && (*first)->start < region.start)
            pieces.push_back(std::make_shared<CodeRegion>(piece(**first, (*first)->start, region.start, next_id_++)));
        const auto added = std::make_shared<const CodeRegion>(std::move(region));
        pieces.push_back(added);
        if (first != last && (*(last - 1))->end > added->end)
            pieces.push_back(
                std::make_shared<CodeRegion>(piece(**(last - 1), added->end, (*(last - 1))->end, next_id_++)));
        const auto gap = regions_.erase(first, last);
        regions_.insert(gap, pieces.begin(), pieces.end());
        ++generation_;
        return *added;
    }
    /// The file whose code lay in [start, end) of this region, laid out as it was there, or null.
    std::shared_ptr<const CodeRegion> file_below(const CodeRegion& region) const {
        const CodeRegion* old = find(region.start);
        if (old != nullptr && old->kind == RegionKind::anonymous) old = old->file.get();
        if (old == nullptr || old->kind != RegionKind::file || old->start > region.start || old->end < region.end)
            return nullptr;
        return std::make_shared<CodeRegion>(piece(*old, region.start, region.end, 0));
    }
    /// The region that holds `address`, or null. Pointers stay valid until the region is dropped by `add`.
    const CodeRegion* find(std::uint64_t address) const {
        const auto after =
            std::partition_point(regions_.begin(), regions_.end(), [&](const auto& r) { return r->end <= address; });
        return after != regions_.end() && (*after)->start <= address ? after->get() : nullptr;
    }
    /// The nearest region that begins below `address`, or null.
    const CodeRegion* before(std::uint64_t address) const {
        const auto after =
            std::partition_point(regions_.begin(), regions_.end(), [&](const auto& r) { return r->start < address; });
        return after != regions_.begin() ? (after - 1)->get() : nullptr;
    }
    /// The lowest address from which code extends without a gap to `address`, at most `most` bytes below it. Adjacent
    /// anonymous regions count as one: a just-in-time compiler splits them when it changes the permissions of a part.
    std::uint64_t code_since(std::uint64_t address, std::uint64_t most) const {
        auto at =
            std::partition_point(regions_.begin(), regions_.end(), [&](const auto& r) { return r->end <= address; });
        if (at == regions_.end() || (*at)->start > address) return address;
        const auto goes_on_below = [&] {
            return at != regions_.begin() && (*at)->kind == RegionKind::anonymous &&
                   (*(at - 1))->kind == RegionKind::anonymous && (*(at - 1))->end == (*at)->start;
        };
        while (address - (*at)->start < most && goes_on_below()) --at;
        return std::max((*at)->start, address - std::min(address, most));
    }
    /// Grows by one with every `add`: a cache by address is to be emptied when it has changed.
    std::uint64_t generation() const { return generation_; }
    const std::vector<std::shared_ptr<const CodeRegion>>& regions() const { return regions_; }

private:
    using Regions = std::vector<std::shared_ptr<const CodeRegion>>;
    /// What is left of `old` in [start, end): a region of its own, because caches must forget `old`.
    static CodeRegion piece(const CodeRegion& old, std::uint64_t start, std::uint64_t end, std::uint32_t id) {
        CodeRegion left = old;
        left.id = id;
        left.start = start;
        left.end = end;
        left.file_offset = old.file_offset + (start - old.start);
        return left;
    }

    Regions regions_;  // sorted by start, disjoint
    std::uint64_t generation_ = 0;
    std::uint32_t next_id_ = 0;
};

/// What was mapped, a file's code or what else. Code that was moved to anonymous memory, in its place and byte for
/// byte, is the file's of which `known` tells that it lay there.
CodeRegion region_of(const RawMapping& mapping, const CodeMap& known);

}  // namespace flameprobe
