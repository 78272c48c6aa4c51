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
        if (tree.self(node) > 0) {
            piece += line;
            piece += ' ';
            piece += std::to_string(tree.self(node));
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
