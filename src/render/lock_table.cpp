#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "outside/counters.hpp"
#include "render/describe.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"

namespace flameprobe {
namespace {

constexpr std::string_view held_by = "[held by ";

bool is_note(const NamedProfile& profile, NodeId node, bool (*wanted)(std::string_view)) {
    const Function& function = profile.function(node);
    return function.kind == FrameKind::note && wanted(profile.strings.view(function.name));
}

bool is_deadlock_text(std::string_view text) { return text == "[deadlock]"; }

/// A waiter's own frames, without those of the holder, whose note is `holder`.
std::vector<std::string> frames_of_waiter(const NamedProfile& profile, NodeId holder) {
    std::vector<std::string> frames;
    for (NodeId node = profile.nodes[holder].parent; node != 0; node = profile.nodes[node].parent)
        if (profile.function(node).kind != FrameKind::thread)
            frames.push_back(clean_text(short_name(profile, profile.function_of(node))));
    return frames;
}

class LockTable {
public:
    explicit LockTable(const NamedProfile& profile) : profile_(profile), first_(profile.nodes.size()) {
        // A node's parent comes before it.
        for (NodeId node = 1; node < profile.nodes.size(); ++node) {
            first_[node] = first_[profile.nodes[node].parent];
            if (first_[node] == 0 && is_note(profile, node, is_holder_note)) first_[node] = node;
        }
        for (const NamedCount& count : profile.counts)
            if (first_[count.node] != 0) add(count);
    }

    std::vector<LockRow> rows() const {
        std::vector<LockRow> rows;
        for (const auto& [lock, holders] : locks_) {
            LockRow row{.lock = lock,
                        .waits = lock_waits(profile_.summary.counters, lock),
                        .longest_ns = longest_wait(profile_.summary.counters, lock),
                        .holders = {}};
            for (const auto& [stack, ns] : holders) {
                row.waited_ns += ns;
                row.holders.push_back({stack.front(), {stack.begin() + 1, stack.end()}, ns});
            }
            std::ranges::stable_sort(row.holders, std::greater(), &HolderStack::ns);
            rows.push_back(std::move(row));
        }
        std::ranges::stable_sort(rows, std::greater(), &LockRow::waited_ns);
        return rows;
    }

private:
    void add(const NamedCount& count) {
        const NodeId holder = first_[count.node];
        std::vector<std::string> stack;
        for (NodeId node = count.node; node != holder; node = profile_.nodes[node].parent)
            stack.push_back(clean_text(profile_.strings.view(profile_.function(node).name)));
        std::string name(profile_.strings.view(profile_.function(holder).name));
        stack.push_back(clean_text(name.substr(held_by.size(), name.size() - held_by.size() - 1)));
        std::ranges::reverse(stack);
        std::uint64_t& ns =
            locks_[std::string(lock_name(profile_.strings.view(profile_.function(holder).file)))][stack];
        ns = add_saturated(ns, count.weight);
    }

    const NamedProfile& profile_;
    std::vector<NodeId> first_;  // by node: the first holder on its path, 0 for none
    std::map<std::string, std::map<std::vector<std::string>, std::uint64_t>> locks_;  // by holder and its frames
};

}  // namespace

const NamedProfile* waiting_event(const NamedProfile& profile) {
    if (counts_waiting(profile.run)) return &profile;
    for (const NamedProfile& other : profile.others)
        if (counts_waiting(other.run)) return &other;
    return nullptr;
}

std::vector<LockRow> lock_table(const NamedProfile& profile) {
    const NamedProfile* const waiting = waiting_event(profile);
    return waiting == nullptr ? std::vector<LockRow>() : LockTable(*waiting).rows();
}

std::map<std::uint32_t, std::vector<std::string>> deadlocked_stacks(const NamedProfile& profile) {
    std::map<std::uint32_t, std::vector<std::string>> stacks;
    const NamedProfile* const waiting = waiting_event(profile);
    if (waiting == nullptr) return stacks;
    for (const NamedCount& count : waiting->counts) {
        if (count.thread >= waiting->threads.size() || !is_note(*waiting, count.node, is_deadlock_text)) continue;
        NodeId holder = 0;  // the last one towards the root is the waiter's own
        for (NodeId node = count.node; node != 0; node = waiting->nodes[node].parent)
            if (is_note(*waiting, node, is_holder_note)) holder = node;
        if (holder != 0) stacks[waiting->threads[count.thread].tid] = frames_of_waiter(*waiting, holder);
    }
    return stacks;
}

std::string lock_text(const LockRow& row) {
    constexpr std::size_t most_holders = 3, most_frames = 4;
    std::string text = clean_text(short_name(row.lock)) + " " + duration_text(row.waited_ns);
    if (row.waits) text += " in about " + count_text(*row.waits) + (*row.waits == 1 ? " wait" : " waits");
    if (row.longest_ns) text += ", the longest " + duration_text(*row.longest_ns);
    for (std::size_t at = 0; at < std::min(row.holders.size(), most_holders); ++at) {
        const HolderStack& holder = row.holders[at];
        text += (at == 0 ? "; held by " : ", by ") + holder.holder + " (" + duration_text(holder.ns);
        const std::size_t shown = std::min(holder.frames.size(), most_frames);
        for (std::size_t from_leaf = 0; from_leaf < shown; ++from_leaf)
            text += (from_leaf == 0 ? ": " : " < ") + short_name(holder.frames[holder.frames.size() - 1 - from_leaf]);
        text += ")";
    }
    if (row.holders.size() > most_holders)
        text += " and " + count_text(row.holders.size() - most_holders) + " more stacks";
    return text;
}

}  // namespace flameprobe
