#include "capture/map_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/proc_maps.hpp"

namespace flameprobe {

void MapWatch::refresh(EventSink& sink, std::uint64_t now_ns) {
    if (now_ns >= next_ns_) read(sink, now_ns);
}

void MapWatch::expect(std::uint64_t pc, EventSink& sink, std::uint64_t now_ns) {
    const auto after =
        std::upper_bound(known_.begin(), known_.end(), pc,
                         [](std::uint64_t address, const Known& known) { return address < known.start; });
    if (after != known_.begin() && pc < std::prev(after)->end) return;
    if (read_ns_ == 0 || now_ns >= read_ns_ + 10 * ns_per_ms) read(sink, now_ns);
}

// A damaged stack may lead anywhere, so readings that it causes take at most 3 % of the time, and come half as often
// each time that nothing new was found.
void MapWatch::met_unknown_code() {
    const std::uint64_t sooner = read_ns_ + std::max(patience_ns_, 30 * cost_ns_);
    if (sooner >= next_ns_) return;
    next_ns_ = sooner;
    asked_ = true;
}

void MapWatch::read(EventSink& sink, std::uint64_t now_ns) {
    const auto maps = read_proc_maps();
    const std::uint64_t done_ns = monotonic_ns();
    cost_ns_ = done_ns - std::min(now_ns, done_ns);
    // Every second, less often where a reading is dear: at most 1 % of the time.
    next_ns_ = now_ns + std::max<std::uint64_t>(1000 * ns_per_ms, 100 * cost_ns_);
    if (!maps) return;
    std::vector<Known> found;
    areas_.clear();
    for (const auto& line : maps->lines) {
        areas_.push_back({line.start, line.end, line.readable, line.path == "[stack]"});
        if (line.executable)
            found.push_back({line.start, line.end, line.offset, line.inode, line.device, std::string(line.path)});
    }
    const bool news = compare(std::move(found), sink, now_ns);
    if (std::exchange(asked_, false))
        patience_ns_ = news ? least_patience_ns : std::min(2 * patience_ns_, 1000 * ns_per_ms);
    read_ns_ = now_ns;
}

// A new mapping was made at some time since the last reading. Where none was known before, all samples since that
// reading may be in it; where it replaced another, they are taken for the other's.
bool MapWatch::compare(std::vector<Known> found, EventSink& sink, std::uint64_t now_ns) {
    bool news = false;
    for (const auto& mapping : found) {
        const auto old = std::lower_bound(known_.begin(), known_.end(), mapping.start,
                                          [](const Known& known, std::uint64_t start) { return known.end <= start; });
        const bool overlaps = old != known_.end() && old->start < mapping.end;
        if (overlaps && old->start == mapping.start && old->end == mapping.end && old->offset == mapping.offset &&
            old->inode == mapping.inode && old->device == mapping.device && old->path == mapping.path) {
            continue;
        }
        news = true;
        sink.mapping({.time_ns = overlaps ? now_ns : read_ns_,
                      .start = mapping.start,
                      .size = mapping.end - mapping.start,
                      .file_offset = mapping.offset,
                      .device = mapping.device,
                      .inode = mapping.inode,
                      .path = mapping.path,
                      .build_id = {}});
    }
    known_ = std::move(found);
    return news;
}

MapWatch::Range MapWatch::stack_below(std::uint64_t control_block) const {
    for (std::size_t i = 0; i < areas_.size(); ++i) {
        const Area& area = areas_[i];
        if (control_block == 0) {
            if (area.main_stack) return {area.start, area.end};
        } else if (area.start < control_block && control_block < area.end) {
            const bool guarded = i > 0 && areas_[i - 1].end == area.start && !areas_[i - 1].readable;
            return guarded && area.readable ? Range{area.start, control_block} : Range{};
        }
    }
    return {};
}

}  // namespace flameprobe
