#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/id_table.hpp"
#include "export/output.hpp"
#include "export/profile_tables.hpp"
#include "export/text.hpp"
#include "outside/byte_stream.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

namespace {

struct Texts {
    std::vector<std::string> sorted;
    std::vector<std::uint32_t> of_function;  // index into `sorted`
};

/// Which functions are processes (--tree), which are always below other frames: their "name pid" is not changed.
std::vector<bool> processes(const NamedProfile& profile) {
    std::vector<bool> found(profile.functions.size());
    for (NodeId id = 1; profile.process_first && id < profile.nodes.size(); ++id) {
        if (profile.nodes[id].parent == 0) found[profile.function_of(id)] = true;
    }
    return found;
}

Texts sorted_texts(const NamedProfile& profile) {
    const std::vector<bool> is_process = processes(profile);
    std::vector<std::string> texts;
    std::vector<std::uint32_t> of_function;
    std::unordered_map<std::string, std::uint32_t> ids;
    for (const Function& function : profile.functions) {
        std::string text =
            folded_name(profile.strings.view(function.name), function.kind, !is_process[of_function.size()]);
        const auto [entry, is_new] = ids.try_emplace(std::move(text), static_cast<std::uint32_t>(texts.size()));
        if (is_new) texts.push_back(entry->first);
        of_function.push_back(entry->second);
    }
    std::vector<std::uint32_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](auto a, auto b) { return texts[a] < texts[b]; });

    Texts result;
    std::vector<std::uint32_t> rank(texts.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        rank[order[i]] = i;
        result.sorted.push_back(std::move(texts[order[i]]));
    }
    for (std::uint32_t& text : of_function) text = rank[text];
    result.of_function = std::move(of_function);
    return result;
}

/// Node ids in the order of their keys: a counting sort, as there are far fewer keys than nodes.
std::vector<std::uint32_t> by_key(const std::vector<std::uint32_t>& keys, std::size_t key_count) {
    std::vector<std::uint32_t> begin(key_count + 1);
    for (std::size_t node = 1; node < keys.size(); ++node) ++begin[keys[node] + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::uint32_t> nodes(keys.size() - 1);
    for (std::uint32_t node = 1; node < keys.size(); ++node) nodes[begin[keys[node]]++] = node;
    return nodes;
}

/// Stacks whose frames have equal texts are one node here, whatever functions, lines and threads they came from. A
/// node's children are in the order of their texts, so the same profile always gives the same tree. And no neighbour
/// interrupts a frame's subtree, such as `a.cold`, which as text sorts between `a` and `a;b`.
class TextTree {
public:
    explicit TextTree(const NamedProfile& profile) {
        Texts texts = sorted_texts(profile);
        texts_ = std::move(texts.sorted);

        std::vector<std::uint32_t> parents{0};
        keys_ = {0};
        {
            TrieIndex index;
            const auto node_at = [&](std::uint32_t id) { return std::pair(parents[id], keys_[id]); };
            std::vector<std::uint32_t> merged(std::max<std::size_t>(profile.nodes.size(), 1));
            for (NodeId node = 1; node < profile.nodes.size(); ++node) {
                const NamedNode& named = profile.nodes[node];
                const std::uint32_t parent = merged[named.parent];
                const std::uint32_t key = texts.of_function[profile.frames[named.frame].function];
                const auto next = static_cast<std::uint32_t>(keys_.size());
                merged[node] = index.find_or_claim(parent, key, next, node_at);
                if (merged[node] != next) continue;
                parents.push_back(parent);
                keys_.push_back(key);
            }
            self_.resize(keys_.size());
            for (const NamedCount& count : profile.counts) self_[merged[count.node]] += count.weight;
        }

        first_child_.resize(keys_.size());
        next_sibling_.resize(keys_.size());
        const auto sorted = by_key(keys_, texts_.size());
        for (auto node = sorted.rbegin(); node != sorted.rend(); ++node)
            next_sibling_[*node] = std::exchange(first_child_[parents[*node]], *node);
    }

    static constexpr std::uint32_t none = 0;  // node 0 is the root
    std::uint32_t first_child(std::uint32_t node) const { return first_child_[node]; }
    std::uint32_t next_sibling(std::uint32_t node) const { return next_sibling_[node]; }
    /// Weight of the samples that end here.
    std::uint64_t self(std::uint32_t node) const { return self_[node]; }
    const std::string& text(std::uint32_t node) const { return texts_[keys_[node]]; }

private:
    std::vector<std::uint32_t> keys_;  // into texts_, which are sorted
    std::vector<std::uint32_t> first_child_;
    std::vector<std::uint32_t> next_sibling_;
    std::vector<std::uint64_t> self_;
    std::vector<std::string> texts_;
};

/// A node on the path of the walk, and the length of the line before its text.
struct Step {
    std::uint32_t node;
    std::size_t line_size;
};

/// Folded text has CPU time in periods, as perf's samples are counted, and waiting time in microseconds, as other tools
/// write it.
std::uint64_t unit_of(const NamedProfile& profile) {
    return counts_waiting(profile.run) ? 1000 : sampling_period_ns(profile.run);
}

/// Rounds weights so that the sum of any lines that follow one another, and so of any subtree, is right within one.
class WholeUnits {
public:
    explicit WholeUnits(std::uint64_t unit) : unit_(unit) {}

    std::uint64_t take(std::uint64_t weight) {
        sum_ += weight % unit_;
        const std::uint64_t due = (sum_ + unit_ / 2) / unit_ - given_;
        given_ += due;
        return weight / unit_ + due;
    }

private:
    const std::uint64_t unit_;
    std::uint64_t sum_ = 0, given_ = 0;  // of what is less than a unit
};

}  // namespace

void write_folded(const NamedProfile& profile, const ByteSink& out) {
    const TextTree tree(profile);
    WholeUnits counts(unit_of(profile));
    std::string piece, line;
    std::vector<Step> path;  // not recursion: stacks may be 10,000 frames deep
    std::uint32_t node = tree.first_child(0);
    while (node != TextTree::none || !path.empty()) {
        if (node == TextTree::none) {
            line.resize(path.back().line_size);
            node = tree.next_sibling(path.back().node);
            path.pop_back();
            continue;
        }
        path.push_back({node, line.size()});
        if (!line.empty()) line += ';';
        line += tree.text(node);
        if (const std::uint64_t count = counts.take(tree.self(node)); count > 0) {
            piece += line;
            piece += ' ';
            piece += std::to_string(count);
            piece += '\n';
            if (piece.size() >= piece_size) {
                out(piece);
                piece.clear();
            }
        }
        node = tree.first_child(node);
    }
    if (!piece.empty()) out(piece);
}

}  // namespace flameprobe
