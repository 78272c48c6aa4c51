#include "render/fold_tree.hpp"

#include <algorithm>
#include <vector>

namespace flameprobe {

namespace {

constexpr std::uint32_t rows_worth_cutting = 3;

bool leads_on(const Box& box, const NamedProfile& profile) {
    return box.kind == BoxKind::function && may_be_folded(profile.functions[box.function].kind);
}

/// The number of boxes from `first` on that each stand alone on the one before. Boxes are in depth-first order.
std::size_t chain_from(const CallTree& tree, const std::vector<std::uint32_t>& children, std::size_t first,
                       const NamedProfile& profile) {
    std::size_t at = first;
    while (leads_on(tree.boxes[at], profile) && children[at] == 1 && at + 1 < tree.boxes.size() &&
           tree.boxes[at + 1].total == tree.boxes[at].total && leads_on(tree.boxes[at + 1], profile))
        ++at;
    return at - first + 1;
}

/// Copies boxes under their new parents.
class Copy {
public:
    explicit Copy(CallTree& tree) : tree_(tree), new_of_(tree.boxes.size()) { out_.reserve(tree.boxes.size()); }

    std::uint32_t add(std::size_t old, Box box) {
        const auto id = static_cast<std::uint32_t>(out_.size());
        box.parent = old == 0 ? 0 : new_of_[box.parent];
        box.depth = old == 0 ? 0 : out_[box.parent].depth + 1;
        new_of_[old] = id;
        out_.push_back(box);
        return id;
    }
    void stands_for(std::size_t old, std::uint32_t id) { new_of_[old] = id; }
    std::size_t size() const { return out_.size(); }
    Box& box(std::uint32_t id) { return out_[id]; }
    std::uint32_t new_of(std::uint32_t old) const { return new_of_[old]; }

    void finish() {
        tree_.boxes = std::move(out_);
        tree_.depth = 0;
        for (const Box& box : tree_.boxes) tree_.depth = std::max(tree_.depth, box.depth);
    }

private:
    CallTree& tree_;
    std::vector<Box> out_;
    std::vector<std::uint32_t> new_of_;
};

}  // namespace

bool may_be_folded(FrameKind kind) {
    return kind != FrameKind::note && kind != FrameKind::scope && kind != FrameKind::thread;
}

void fold_chains(CallTree& tree, const NamedProfile& profile) {
    std::vector<std::uint32_t> children(tree.boxes.size());
    for (std::size_t at = 1; at < tree.boxes.size(); ++at) ++children[tree.boxes[at].parent];
    Copy copy(tree);
    for (std::size_t at = 0; at < tree.boxes.size();) {
        const std::size_t length = chain_from(tree, children, at, profile);
        Box box = tree.boxes[at];
        if (length <= longest_chain) {
            copy.add(at++, box);
            continue;
        }
        box.kind = BoxKind::folded;
        box.gathered = static_cast<std::uint32_t>(length - 1);
        const std::uint32_t id = copy.add(at, box);
        for (const std::size_t end = at + length - 1; at < end; ++at) {
            tree.folded[id].push_back(tree.boxes[at].function);
            copy.stands_for(at, id);
        }
        copy.add(at, tree.boxes[at]);
        ++at;
    }
    copy.finish();
}

void cut_towers(CallTree& tree, double percent, double of_row) {
    const auto all = static_cast<double>(tree.boxes.front().total);
    std::vector<double> rows(tree.depth + 1);
    for (const Box& box : tree.boxes) rows[box.depth] += static_cast<double>(box.total);
    std::uint32_t last = 0;
    for (const Box& box : tree.boxes)
        if (static_cast<double>(box.total) >= all * percent / 100 && rows[box.depth] >= all * of_row / 100)
            last = std::max(last, box.depth);
    if (tree.depth < last + 1 + rows_worth_cutting) return;
    std::map<std::uint32_t, std::vector<FunctionId>> folded;
    Copy copy(tree);
    for (std::size_t at = 0; at < tree.boxes.size(); ++at) {
        Box box = tree.boxes[at];
        const std::uint32_t frames = box.kind == BoxKind::function ? 1 : std::max(box.gathered, 1U);
        if (box.depth > last + 1) {
            const std::uint32_t above = copy.new_of(box.parent);
            copy.box(above).gathered += frames;
            copy.stands_for(at, above);
            continue;
        }
        if (box.depth <= last) {
            const std::uint32_t id = copy.add(at, box);
            if (box.kind == BoxKind::folded) folded[id] = tree.folded[static_cast<std::uint32_t>(at)];
            continue;
        }
        // Of siblings in this row one box: they follow one another, but for what stands on them.
        const std::uint32_t caller = copy.new_of(box.parent);
        box.kind = BoxKind::above;
        box.gathered = frames;
        box.self = 0;
        const auto last_added = static_cast<std::uint32_t>(copy.size() - 1);
        if (Box& before = copy.box(last_added); before.kind == BoxKind::above && before.parent == caller) {
            before.gathered += frames;
            before.total += box.total;
            before.hits += box.hits;
            copy.stands_for(at, last_added);
        } else {
            copy.add(at, box);
        }
    }
    copy.finish();
    tree.folded = std::move(folded);
}

}  // namespace flameprobe
