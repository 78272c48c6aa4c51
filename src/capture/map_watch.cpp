#include "capture/map_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

extern "C" void* __libc_stack_end;

namespace flameprobe {
namespace {

auto first_ending_after(const ProcMaps& maps, std::uint64_t address) {
    return std::upper_bound(maps.lines.begin(), maps.lines.end(), address,
                            [](std::uint64_t wanted, const MapsLine& line) { return wanted < line.end; });
}

}  // namespace

// At most 1 % of the time.
void MapWatch::refresh(RecordSink& sink, std::uint64_t now_ns, bool samples) {
    constexpr std::uint64_t with_samples_ns = 50 * ns_per_ms;  // less than the time between two drains, mostly
    const bool is_soon = samples && now_ns >= read_ns_ + std::max(with_samples_ns, 100 * cost_ns_);
    if (is_soon || now_ns >= next_ns_) read(sink, now_ns);
}

void MapWatch::expect(std::uint64_t pc, RecordSink& sink, std::uint64_t now_ns) {
    const auto mapping = first_ending_after(known_, pc);
    if (mapping != known_.lines.end() && mapping->executable && mapping->start <= pc) return;
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

void MapWatch::read(RecordSink& sink, std::uint64_t now_ns) {
    auto maps = read_proc_maps();
    const std::uint64_t done_ns = monotonic_ns();
    cost_ns_ = done_ns - std::min(now_ns, done_ns);
    // Every second, less often where a reading is dear: at most 1 % of the time.
    next_ns_ = now_ns + std::max<std::uint64_t>(1000 * ns_per_ms, 100 * cost_ns_);
    if (!maps) return;
    const bool news = report_new(*maps, sink);
    known_ = std::move(*maps);
    if (std::exchange(asked_, false))
        patience_ns_ = news ? least_patience_ns : std::min(2 * patience_ns_, 1000 * ns_per_ms);
    read_ns_ = now_ns;
}

bool MapWatch::report_new(const ProcMaps& found, RecordSink& sink) const {
    bool news = false;
    for (const MapsLine& mapping : found.lines) {
        if (!mapping.executable) continue;
        auto old = first_ending_after(known_, mapping.start);
        while (old != known_.lines.end() && !old->executable && old->start < mapping.end) ++old;
        const bool overlaps = old != known_.lines.end() && old->executable && old->start < mapping.end;
        if (overlaps && *old == mapping) continue;
        news = true;
        sink.take(raw_mapping(mapping));
    }
    return news;
}

StackRange stack_below(const ProcMaps& maps, std::uint64_t control_block) {
    const auto& lines = maps.lines;
    if (control_block == 0) {
        const auto stack = std::find_if(lines.begin(), lines.end(), [](auto& line) { return line.path == "[stack]"; });
        if (stack == lines.end()) return {};
        // Where the kernel left the number of arguments, as the dynamic linker found it.
        const auto begun = reinterpret_cast<std::uint64_t>(__libc_stack_end) + sizeof(void*);
        return {stack->start, begun > stack->start && begun < stack->end ? begun : stack->end};
    }
    const auto area = first_ending_after(maps, control_block);
    if (area == lines.end() || area->start >= control_block || !area->readable || area == lines.begin()) return {};
    const MapsLine& below = *std::prev(area);
    return below.end == area->start && !below.readable ? StackRange{area->start, control_block} : StackRange{};
}

}  // namespace flameprobe
