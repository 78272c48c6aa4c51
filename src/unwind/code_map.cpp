#include "unwind/code_map.hpp"

#include <algorithm>

namespace flameprobe {
namespace {

using Regions = std::vector<std::shared_ptr<const CodeRegion>>;

/// What is left of `old` in [start, end): a region of its own, because caches must forget `old`.
CodeRegion piece(const CodeRegion& old, std::uint64_t start, std::uint64_t end, std::uint32_t id) {
    CodeRegion left = old;
    left.id = id;
    left.start = start;
    left.end = end;
    left.file_offset = old.file_offset + (start - old.start);
    return left;
}

}  // namespace

const CodeRegion& CodeMap::add(CodeRegion region) {
    region.id = next_id_++;
    region.end = std::max(region.start, region.end);
    Regions pieces;  // what the regions from `first` to `last` become
    const auto first =
        std::partition_point(regions_.begin(), regions_.end(), [&](const auto& r) { return r->end <= region.start; });
    const auto last = std::partition_point(first, regions_.end(), [&](const auto& r) { return r->start < region.end; });
    if (first != last && (*first)->start < region.start)
        pieces.push_back(std::make_shared<CodeRegion>(piece(**first, (*first)->start, region.start, next_id_++)));
    const auto added = std::make_shared<const CodeRegion>(std::move(region));
    pieces.push_back(added);
    if (first != last && (*(last - 1))->end > added->end)
        pieces.push_back(std::make_shared<CodeRegion>(piece(**(last - 1), added->end, (*(last - 1))->end, next_id_++)));
    const auto gap = regions_.erase(first, last);
    regions_.insert(gap, pieces.begin(), pieces.end());
    ++generation_;
    return *added;
}

std::shared_ptr<const CodeRegion> CodeMap::file_below(const CodeRegion& region) const {
    const CodeRegion* old = find(region.start);
    if (old != nullptr && old->kind == RegionKind::anonymous) old = old->file.get();
    if (old == nullptr || old->kind != RegionKind::file || old->start > region.start || old->end < region.end)
        return nullptr;
    return std::make_shared<CodeRegion>(piece(*old, region.start, region.end, 0));
}

const CodeRegion* CodeMap::find(std::uint64_t address) const {
    const auto after =
        std::partition_point(regions_.begin(), regions_.end(), [&](const auto& r) { return r->end <= address; });
    return after != regions_.end() && (*after)->start <= address ? after->get() : nullptr;
}

const CodeRegion* CodeMap::before(std::uint64_t address) const {
    const auto after =
        std::partition_point(regions_.begin(), regions_.end(), [&](const auto& r) { return r->start < address; });
    return after != regions_.begin() ? (after - 1)->get() : nullptr;
}

std::uint64_t CodeMap::code_since(std::uint64_t address, std::uint64_t most) const {
    auto at = std::partition_point(regions_.begin(), regions_.end(), [&](const auto& r) { return r->end <= address; });
    if (at == regions_.end() || (*at)->start > address) return address;
    const auto goes_on_below = [&] {
        return at != regions_.begin() && (*at)->kind == RegionKind::anonymous &&
               (*(at - 1))->kind == RegionKind::anonymous && (*(at - 1))->end == (*at)->start;
    };
    while (address - (*at)->start < most && goes_on_below()) --at;
    return std::max((*at)->start, address - std::min(address, most));
}

}  // namespace flameprobe
