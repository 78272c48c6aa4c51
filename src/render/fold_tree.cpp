#include <algorithm>
#include <vector>

#include "render/call_tree.hpp"

namespace flameprobe {

namespace {

constexpr std::uint32_t rows_worth_cutting = 3;

class Folds {
public:
    Folds(CallTree& tree, const NamedProfile& profile, const std::vector<Role>& roles)
        : tree_(tree), boxes_(tree.boxes), profile_(profile), roles_(roles), heaviest_(tree.boxes.size()) {
        for (std::uint32_t at = 1; at < boxes_.size(); ++at) {
            std::uint32_t& kid = heaviest_[boxes_[at].parent];
            if (kid == 0 || boxes_[at].total > boxes_[kid].total) kid = at;
        }
    }
    /// Returns the last of a chain that begins with this box, and is not folded with it.
    std::uint32_t chain(std::uint32_t first) {
        std::vector<std::uint32_t> chain = chain_from(first);
        const std::uint32_t last = chain.back();
        if (chain.size() <= longest_chain) return first;
        chain.pop_back();
        fold(chain);
        for (const std::uint32_t one : chain) tree_.folded[first].push_back(boxes_[one].function);
        return last;
    }
    void kernel(std::uint32_t first) {
        if (!is_kernel(first) || is_kernel(boxes_[first].parent)) return;
        std::vector<std::uint32_t> inside{first};
        std::uint32_t deepest = 0;
        for (std::uint32_t at = first + 1; at < boxes_.size() && boxes_[at].depth > boxes_[first].depth; ++at) {
            if (!is_kernel(at) && boxes_[at].kind != BoxKind::gathered) return;
            deepest = std::max(deepest, boxes_[at].depth - boxes_[first].depth);
            inside.push_back(at);
        }
        if (deepest < longest_chain) return;
        std::vector<FunctionId>& way = tree_.folded[first];
        const auto leads = [&](std::uint32_t at) {
            const double least = static_cast<double>(boxes_[first].total) * (way.size() > entering ? least_naming : 50);
            return is_kernel(at) && static_cast<double>(boxes_[at].total) * 100 >= least;
        };
        for (std::uint32_t at = first; at != 0 && leads(at); at = heaviest_[at]) way.push_back(boxes_[at].function);
        fold(inside);
    }

private:
    void fold(const std::vector<std::uint32_t>& all) {
        for (const std::uint32_t one : all) boxes_[one].hidden = one != all.front();
        boxes_[all.front()].kind = BoxKind::folded;
        boxes_[all.front()].gathered = static_cast<std::uint32_t>(all.size());
    }
    /// Boxes that each only lead to the next. Rare ones of own code each end one.
    std::vector<std::uint32_t> chain_from(std::uint32_t first) const {
        std::vector<std::uint32_t> chain{first};
        const double least = static_cast<double>(boxes_[first].total) * (1 - most_leaving / 100);
        for (std::uint32_t at = first, kid = heaviest_[at]; leads_on(at) && kid != 0 && leads_on(kid);
             at = kid, kid = heaviest_[at]) {
            const bool nearly = is_others(at) && is_others(kid) && static_cast<double>(boxes_[kid].total) >= least;
            if (boxes_[kid].total != boxes_[at].total && !nearly) break;
            chain.push_back(kid);
        }
        const auto last = chain.end() - 1, own = std::find_if(chain.begin(), last, [&](auto at) { return is_own(at); });
        const auto many = std::count_if(own, last, [&](auto at) { return is_own(at); });
        if (own != last && static_cast<std::size_t>(many) * rare_own < chain.size()) chain.erase(own + 1, chain.end());
        return chain;
    }
    bool leads_on(std::uint32_t at) const {
        return boxes_[at].kind == BoxKind::function && may_be_folded(profile_.functions[boxes_[at].function].kind);
    }
    bool is_kernel(std::uint32_t at) const {
        return boxes_[at].kind == BoxKind::function &&
               profile_.functions[boxes_[at].function].kind == FrameKind::kernel;
    }
    Role role(std::uint32_t at) const { return roles_[boxes_[at].function]; }
    bool is_own(std::uint32_t at) const { return role(at) == Role::own; }
    bool is_others(std::uint32_t at) const { return flameprobe::is_others(role(at)); }

    CallTree& tree_;
    std::vector<Box>& boxes_;
    const NamedProfile& profile_;
    const std::vector<Role>& roles_;
    std::vector<std::uint32_t> heaviest_;  // of the boxes that stand on each; 0: none
};

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
        for (const Box& box : tree_.boxes) tree_.depth = std::max(tree_.depth, box.row);
    }

private:
    CallTree& tree_;
    std::vector<Box> out_;
    std::vector<std::uint32_t> new_of_;
};

}  // namespace

bool may_be_folded(FrameKind kind) {
    return kind == FrameKind::user || kind == FrameKind::inlined || kind == FrameKind::held;
}

void fold_rows(CallTree& tree, const NamedProfile& profile, const std::vector<Role>& roles) {
    Folds folds(tree, profile, roles);
    std::vector<bool> ends_chain(tree.boxes.size());
    tree.depth = 0;
    for (std::uint32_t at = 1; at < tree.boxes.size(); ++at) {
        Box& box = tree.boxes[at];
        if (!box.hidden) {
            if (!ends_chain[at]) ends_chain[folds.chain(at)] = true;
            folds.kernel(at);
        }
        box.row = tree.boxes[box.parent].row + (box.hidden ? 0 : 1);
        tree.depth = std::max(tree.depth, box.row);
    }
}

void cut_towers(CallTree& tree, double percent, double of_row) {
    const auto all = static_cast<double>(tree.boxes.front().total);
    std::vector<double> rows(tree.depth + 1);
    for (const Box& box : tree.boxes) rows[box.row] += box.hidden ? 0 : static_cast<double>(box.total);
    std::uint32_t last = 0;
    for (const Box& box : tree.boxes)
        if (static_cast<double>(box.total) >= all * percent / 100 && rows[box.row] >= all * of_row / 100)
            last = std::max(last, box.row);
    if (tree.depth < last + 1 + rows_worth_cutting) return;
    std::map<std::uint32_t, std::vector<FunctionId>> folded;
    Copy copy(tree);
    for (std::size_t at = 0; at < tree.boxes.size(); ++at) {
        Box box = tree.boxes[at];
        const std::uint32_t frames = box.kind == BoxKind::function ? 1 : std::max(box.gathered, 1U);
        if (box.row > last + 1 || (box.row > last && box.hidden)) {
            const std::uint32_t above = copy.new_of(box.parent);
            if (!box.hidden) copy.box(above).gathered += frames;
            copy.stands_for(at, above);
            continue;
        }
        if (box.row <= last) {
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
