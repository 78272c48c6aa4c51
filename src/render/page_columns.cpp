#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/varint.hpp"
#include "render/box_walk.hpp"
#include "render/page_parts.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

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
        has_row_ = false;
        put_varint(up, last_depth_ + 1 - box.depth);
        last_depth_ = box.depth;
        depth = std::max(depth, box.depth);
        const bool function = box.kind == BoxKind::function;
        put_varint(fn, function ? numbers_.number_of[box.function] : numbers_.gathered);
        if (!function) {
            gathered_in_[box.parent] = id;
            put_row(0);
        }
        return id;
    }
    /// A box's nodes come right after it; all have the row of the first.
    void node(std::uint32_t box, NodeId node) {
        box_of_[node] = box;
        if (box != 0) put_row(numbers_.row_of_node.empty() ? 0 : numbers_.row_of_node[node]);
    }
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

    bool has_rows() const {
        return std::ranges::any_of(row, [](char byte) { return byte != 0; });
    }

    std::string up, fn, row;
    std::uint64_t boxes = 0;
    std::uint32_t depth = 0;

private:
    void put_row(std::uint32_t number) {
        if (!std::exchange(has_row_, true)) put_varint(row, number);
    }

    const PageNumbers& numbers_;
    const std::uint64_t most_;
    std::vector<std::uint32_t> box_of_;
    std::unordered_map<std::uint32_t, std::uint32_t> gathered_in_;  // by the box below it
    std::uint32_t last_depth_ = 0;
    bool has_row_ = false;  // the box that was opened last
};

void add_part(PageColumns& columns, const std::string& name, const std::string& bytes) {
    columns.parts.emplace_back(name, bytes.size());
    columns.bytes += bytes;
}

/// Rows of numbers, kept as columns.
class Table {
public:
    void add(std::initializer_list<std::uint64_t> row) {
        bytes_.resize(row.size());
        auto column = bytes_.begin();
        for (const std::uint64_t number : row) put_varint(*column++, number);
    }
    /// Adds those that have a name.
    void put(PageColumns& columns, std::initializer_list<const char*> names) {
        bytes_.resize(names.size());
        auto column = bytes_.begin();
        for (const char* const name : names) {
            if (name != nullptr) add_part(columns, name, *column);
            ++column;
        }
    }

private:
    std::vector<std::string> bytes_;
};

/// Whether the times are of what is alive: a moment is chosen then, not a stretch of time.
bool has_steps(const NamedProfile& profile) {
    return profile.bin_ns > 0 && profile.has_run && counts_living(profile.run);
}

void add_counts(PageColumns& columns, const NamedProfile& profile, const ColumnSink& sink) {
    struct Count {
        std::uint32_t box;
        ThreadId thread;
        std::uint32_t bin;
        std::uint64_t weight, hits;
        Age age = {};
    };
    std::vector<Count> counts;
    counts.reserve(std::max(profile.counts.size(), profile.times.size()));
    const bool timed = profile.bin_ns > 0 && !has_steps(profile);
    if (timed) {
        for (const TimedWeight& time : profile.times) {
            const NamedCount& count = profile.counts[time.count];
            counts.push_back({sink.box_of(count.node), count.thread, time.bin, time.weight, time.hits});
        }
    } else {
        for (const NamedCount& count : profile.counts)
            if (count.weight > 0)
                counts.push_back({sink.box_of(count.node), count.thread, 0, count.weight, count.hits, count.age});
    }
    std::ranges::sort(counts, {}, [](const Count& one) { return std::tie(one.box, one.thread, one.bin); });
    Table table;
    bool weighted = false;
    std::uint32_t last = 0;
    for (auto at = counts.begin(); at != counts.end();) {
        Count sum = *at++;
        for (; at != counts.end() && at->box == sum.box && at->thread == sum.thread && at->bin == sum.bin; ++at)
            sum.age.add(sum.weight, at->age, at->weight), sum.weight += at->weight, sum.hits += at->hits;
        table.add({sum.box - last, sum.thread, sum.weight, sum.bin, sum.hits, sum.age.mean_ns, sum.age.oldest_ns});
        weighted = weighted || sum.hits != sum.weight;
        last = sum.box;
    }
    table.put(columns, {"box", "thread", "weight", timed ? "bin" : nullptr, weighted ? "hits" : nullptr,
                        profile.has_ages ? "age" : nullptr, profile.has_ages ? "oldest" : nullptr});
}

/// By how much what is alive changed in each step of time, thread and box.
void add_steps(PageColumns& columns, const NamedProfile& profile, const ColumnSink& sink) {
    std::map<std::tuple<std::uint32_t, ThreadId, std::uint32_t>, std::pair<std::uint64_t, std::uint64_t>> sums;
    for (const TimedWeight& time : profile.times) {
        const NamedCount& count = profile.counts[time.count];
        auto& [weight, hits] = sums[{sink.box_of(count.node), count.thread, time.bin}];
        weight += time.weight, hits += time.hits;  // modulo 2^64
    }
    Table table;
    std::uint32_t last = 0;
    for (const auto& [of, sum] : sums) {
        if (sum == std::pair<std::uint64_t, std::uint64_t>()) continue;
        const auto [box, thread, bin] = of;
        table.add({box - std::exchange(last, box), thread, bin, zigzag(static_cast<std::int64_t>(sum.first)),
                   zigzag(static_cast<std::int64_t>(sum.second))});
    }
    table.put(columns, {"stepBox", "stepThread", "stepBin", "stepWeight", "stepHits"});
}

/// Keeps every count apart, since noise is computed from each.
void add_side_counts(PageColumns& columns, const PageSides& sides, const NamedProfile& profile,
                     const ColumnSink& sink) {
    struct Count {
        std::uint32_t box;
        std::uint32_t side;
        Amount count;
    };
    std::vector<Count> counts;
    bool weighted = false;
    for (std::uint32_t side = 0; side < 2; ++side) {
        for (std::size_t at = 0; at < sides.counts[side].size(); ++at) {
            const Amount& count = sides.counts[side][at];
            if (count.weight == 0) continue;
            weighted = weighted || (count.hits != 0 && count.hits != count.weight);
            counts.push_back({sink.box_of(profile.counts[at].node), side, count});
        }
    }
    std::ranges::stable_sort(counts, {}, [](const Count& one) { return std::tie(one.box, one.side); });
    Table table;
    std::uint32_t last = 0;
    for (const Count& count : counts)
        table.add({count.box - std::exchange(last, count.box), count.side, count.count.weight, count.count.hits});
    table.put(columns, {"box", "side", "weight", weighted ? "hits" : nullptr});
}

}  // namespace

Result<PageColumns> page_columns(const NamedProfile& profile, const PageNumbers& numbers, const PageSides* sides,
                                 std::uint64_t most) {
    const auto all = weight_to_draw(profile);
    if (!all) return all.error();
    std::vector<NamedCount> living;
    if (sides == nullptr && has_steps(profile)) {  // what is alive at another moment has boxes too
        living = profile.counts;
        for (NamedCount& count : living) count.weight = std::max<std::uint64_t>(count.weight, 1);
    }
    const StackIndex stacks({profile.nodes, living.empty() ? profile.counts : living}, false);
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
        if (sink.has_rows()) add_part(columns, "row", sink.row);
        if (sides != nullptr) {
            add_side_counts(columns, *sides, profile, sink);
        } else {
            add_counts(columns, profile, sink);
            if (has_steps(profile)) add_steps(columns, profile, sink);
        }
        return columns;
    }
}

}  // namespace flameprobe
