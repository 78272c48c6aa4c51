#include "render/page_columns.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "render/box_walk.hpp"
#include "render/numbers.hpp"

namespace flameprobe {

namespace {

void append_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
}

constexpr std::uint32_t no_box = ~std::uint32_t{0};

class ColumnSink {
public:
    ColumnSink(const NamedProfile& profile, const PageNumbers& numbers, std::uint64_t most)
        : numbers_(numbers), most_(most), box_of_(profile.nodes.size(), no_box) {
        box_of_[0] = 0;
    }

    std::uint32_t open(const NewBox& box) {
        const auto id = static_cast<std::uint32_t>(boxes++);
        if (id == 0) return id;
        append_varint(up, last_depth_ + 1 - box.depth);
        last_depth_ = box.depth;
        depth = std::max(depth, box.depth);
        const bool function = box.kind == BoxKind::function;
        append_varint(fn, function ? numbers_.number_of[box.function] : numbers_.gathered);
        if (!function) gathered_in_[box.parent] = id;
        return id;
    }
    void node(std::uint32_t box, NodeId node) { box_of_[node] = box; }
    void self(std::uint32_t /*box*/, std::uint64_t /*weight*/) {}
    bool full() const { return boxes > most_; }

    /// Places nodes that were not expanded in the gathered box of their last expanded ancestor.
    void place_gathered(const NamedProfile& profile) {
        if (gathered_in_.empty()) return;
        for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
            if (box_of_[node] != no_box) continue;
            const std::uint32_t below = box_of_[profile.nodes[node].parent];
            const auto found = gathered_in_.find(below);
            box_of_[node] = found == gathered_in_.end() ? below : found->second;
        }
    }

    std::uint32_t box_of(NodeId node) const { return box_of_[node]; }

    std::string up, fn;
    std::uint64_t boxes = 0;
    std::uint32_t depth = 0;

private:
    const PageNumbers& numbers_;
    const std::uint64_t most_;
    std::vector<std::uint32_t> box_of_;
    std::unordered_map<std::uint32_t, std::uint32_t> gathered_in_;  // by the box below it
    std::uint32_t last_depth_ = 0;
};

void add_part(PageColumns& columns, const char* name, const std::string& bytes) {
    columns.parts.emplace_back(name, bytes.size());
    columns.bytes += bytes;
}

void add_counts(PageColumns& columns, const NamedProfile& profile, const ColumnSink& sink) {
    struct Count {
        std::uint32_t box;
        ThreadId thread;
        std::uint32_t bin;
        std::uint64_t weight, hits;
    };
    std::vector<Count> counts;
    counts.reserve(std::max(profile.counts.size(), profile.times.size()));
    if (profile.bin_ns > 0) {
        for (const TimedWeight& time : profile.times) {
            const NamedCount& count = profile.counts[time.count];
            counts.push_back({sink.box_of(count.node), count.thread, time.bin, time.weight, time.hits});
        }
    } else {
        for (const NamedCount& count : profile.counts)
            if (count.weight > 0)
                counts.push_back({sink.box_of(count.node), count.thread, 0, count.weight, count.hits});
    }
    std::sort(counts.begin(), counts.end(), [](const Count& a, const Count& b) {
        return std::tie(a.box, a.thread, a.bin) < std::tie(b.box, b.thread, b.bin);
    });
    std::string box, thread, weight, bin, hits;
    bool weighted = false;
    std::uint32_t last = 0;
    for (auto at = counts.begin(); at != counts.end();) {
        Count sum = *at++;
        for (; at != counts.end() && at->box == sum.box && at->thread == sum.thread && at->bin == sum.bin; ++at)
            sum.weight += at->weight, sum.hits += at->hits;
        append_varint(box, sum.box - last);
        append_varint(thread, sum.thread);
        append_varint(weight, sum.weight);
        append_varint(bin, sum.bin);
        append_varint(hits, sum.hits);
        weighted = weighted || sum.hits != sum.weight;
        last = sum.box;
    }
    add_part(columns, "box", box);
    add_part(columns, "thread", thread);
    add_part(columns, "weight", weight);
    if (profile.bin_ns > 0) add_part(columns, "bin", bin);
    if (weighted) add_part(columns, "hits", hits);
}

/// Keeps every count apart, since noise is computed from each.
void add_side_counts(PageColumns& columns, const PageSides& sides, const NamedProfile& profile,
                     const ColumnSink& sink) {
    struct Count {
        std::uint32_t box;
        std::uint32_t side;
        SideCount count;
    };
    std::vector<Count> counts;
    bool weighted = false;
    for (std::uint32_t side = 0; side < 2; ++side) {
        for (std::size_t at = 0; at < sides.counts[side].size(); ++at) {
            const SideCount& count = sides.counts[side][at];
            if (count.weight == 0) continue;
            weighted = weighted || (count.hits != 0 && count.hits != count.weight);
            counts.push_back({sink.box_of(profile.counts[at].node), side, count});
        }
    }
    std::stable_sort(counts.begin(), counts.end(),
                     [](const Count& a, const Count& b) { return std::tie(a.box, a.side) < std::tie(b.box, b.side); });
    std::string box, side, weight, hits;
    std::uint32_t last = 0;
    for (const Count& count : counts) {
        append_varint(box, count.box - last);
        append_varint(side, count.side);
        append_varint(weight, count.count.weight);
        append_varint(hits, count.count.hits);
        last = count.box;
    }
    add_part(columns, "box", box);
    add_part(columns, "side", side);
    add_part(columns, "weight", weight);
    if (weighted) add_part(columns, "hits", hits);
}

}  // namespace

Result<PageColumns> page_columns(const NamedProfile& profile, const PageNumbers& numbers, const PageSides* sides,
                                 std::uint64_t most) {
    const auto all = weight_to_draw(profile);
    if (!all) return all.error();
    const StackIndex stacks({profile.nodes, profile.counts}, false);
    for (double min_width = 0;; min_width = min_width == 0 ? 100.0 / static_cast<double>(most) : min_width * 4) {
        if (min_width > 1) {
            return Error{"the stacks are too deep for an HTML page: it holds " + count_text(most) +
                         " frames; write an .svg"};
        }
        ColumnSink sink(profile, numbers, most);
        BoxWalk(profile, stacks, *all, min_width, shown_functions(profile), sink).run();
        if (sink.full()) continue;
        sink.place_gathered(profile);
        PageColumns columns;
        columns.boxes = sink.boxes;
        columns.depth = sink.depth;
        columns.min_width = min_width;
        add_part(columns, "up", sink.up);
        add_part(columns, "fn", sink.fn);
        if (sides != nullptr) {
            add_side_counts(columns, *sides, profile, sink);
        } else {
            add_counts(columns, profile, sink);
        }
        return columns;
    }
}

}  // namespace flameprobe
