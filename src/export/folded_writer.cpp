#include <string>
#include <vector>

#include "export/text_tree.hpp"
#include "export/writer.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t piece_size = 256 * 1024;

/// Where the walk stands: a node, and how long the line was before its text.
struct Step {
    std::uint32_t node;
    std::size_t line_size;
};

/// Waiting time is folded in microseconds, as other tools do.
std::uint64_t folded_count(const RunInfo& run, std::uint64_t weight) {
    constexpr std::uint64_t ns_per_us = 1000;
    return counts_waiting(run) ? weight / ns_per_us + (weight % ns_per_us >= ns_per_us / 2) : weight;
}

}  // namespace

void write_folded(const NamedProfile& profile, const ByteSink& out) {
    const TextTree tree(profile);
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
        if (const std::uint64_t count = folded_count(profile.run, tree.self(node)); count > 0) {
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
