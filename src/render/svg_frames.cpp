#include <algorithm>
#include <map>

#include "render/answer.hpp"
#include "render/call_tree.hpp"
#include "render/describe.hpp"
#include "render/flame_graph.hpp"
#include "render/page_parts.hpp"
#include "render/palette.hpp"
#include "render/role.hpp"
#include "render/run_facts.hpp"
#include "render/svg_page.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

/// Of frames that are one box the first of those that most are like: it stands for them in colour.
FunctionId most_like(const std::vector<FunctionId>& functions, const std::vector<Role>& roles) {
    const auto alike = [&](FunctionId id) {
        return std::ranges::count_if(functions, [&](FunctionId other) { return roles[other] == roles[id]; });
    };
    return *std::ranges::max_element(functions, {}, alike);
}

/// The class of every box, which gives its colour; of a folded one while it is folded.
std::vector<std::string> box_classes(const NamedProfile& profile, const CallTree& tree, const Palette& palette,
                                     const std::vector<Role>& roles) {
    std::vector<std::string> classes;
    classes.reserve(tree.boxes.size());
    for (std::uint32_t id = 0; id < tree.boxes.size(); ++id) {
        const Box& box = tree.boxes[id];
        const bool folded = box.kind == BoxKind::folded;
        const FunctionId function = folded ? most_like(tree.folded.at(id), roles) : box.function;
        const bool named = folded || box.kind == BoxKind::function;
        classes.push_back(named ? palette.class_of(profile, function, roles[function]) : Palette::plain_class());
    }
    return classes;
}

constexpr std::size_t most_brief_bytes = 110'000;  // of frames; with style and script 150 kB
constexpr double least_tower = 1;                  // percent of the width: narrower ones do not make a picture high
constexpr double least_brief_row = 10;             // likewise, of all boxes of a row: half a page of white says nothing

/// Of a row, in pixels.
struct RowSize {
    unsigned row = svg::row, fill = svg::row_fill, baseline = svg::baseline;
};
constexpr std::size_t longest_folded = 200;                         // bytes of the name of a folded box
constexpr RowSize page_row{.row = 19, .fill = 18, .baseline = 14};  // as assets/page/paint.js paints them

class Frames {
public:
    Frames(const NamedProfile& profile, const CallTree& tree, const std::vector<Role>& roles,
           const std::vector<std::string>& classes, const Palette& palette, const FlameGraphOptions& options,
           RowSize size = {})
        : profile_(profile),
          tree_(tree),
          roles_(roles),
          classes_(classes),
          palette_(palette),
          options_(options),
          size_(size),
          all_(static_cast<double>(tree.boxes[0].total)) {}

    std::string markup() const {
        std::string out;
        for (std::size_t at = 0; at < tree_.boxes.size(); ++at) add_frame(out, tree_.boxes[at], classes_[at]);
        return out;
    }

    /// Boxes and labels alone, in the colours of a light page.
    std::string plain_markup() const {
        std::map<std::string, Shade> shades;
        for (const NamedShade& named : palette_.classes()) shades[named.name] = named.shade;
        std::string out;
        for (std::size_t at = 0; at < tree_.boxes.size(); ++at) {
            const Box& box = tree_.boxes[at];
            if (box.hidden) continue;
            out += "<rect fill=\"" + std::string(shades[classes_[at]].light) + "\"" + place(box);
            add_label(out, box, top(box), box_label(profile_, tree_, box));
            out += '\n';
        }
        return out;
    }

private:
    unsigned top(const Box& box) const { return (options_.icicle ? box.row : tree_.depth - box.row) * size_.row; }
    std::string place(const Box& box) const {
        return " x=\"" + short_decimal(percent(box.start), 4) + "%\" y=\"" + std::to_string(top(box)) + "\" width=\"" +
               short_decimal(percent(box.total), 4) + "%\" height=\"" + std::to_string(size_.fill) + "\"/>";
    }
    double percent(std::uint64_t weight) const { return static_cast<double>(weight) / all_ * 100; }

    void add_frame(std::string& out, const Box& box, const std::string& color) const {
        // The script needs the short name where it differs from the whole one, and which boxes a search cannot look
        // into.
        if (box.hidden && options_.brief) return;
        const std::string name = box_name(profile_, tree_, box), label = box_label(profile_, tree_, box);
        out += "<g class=\"" + color + (box.hidden ? " in\"" : "\"");
        if (box.row != box.depth && !options_.brief) out += " data-l=\"" + std::to_string(box.depth) + "\"";
        if (box.kind == BoxKind::gathered || box.kind == BoxKind::omitted || box.kind == BoxKind::above)
            out += " data-more=\"1\"";
        if (box.kind == BoxKind::folded && !options_.brief) add_own(out, box);
        if (label != name && !options_.brief) {
            out += " data-n=\"";
            append_xml(out, label);
            out += "\"";
        }
        out += "><title>";
        append_xml(out, tooltip(box));
        out += "</title><rect" + place(box);
        if (!box.hidden) add_label(out, box, top(box), label);
        out += "</g>\n";
    }
    std::string tooltip(const Box& box) const { return box_tooltip(profile_, tree_, box, options_); }
    /// What the box is when the reader has opened it, in lines: class, label and tooltip.
    void add_own(std::string& out, Box box) const {
        box.kind = BoxKind::function;
        std::string lines = palette_.class_of(profile_, box.function, roles_[box.function]) + "\n";
        append_xml(lines, shorten(box_label(profile_, tree_, box), longest_folded) + "\n" + tooltip(box));
        out += " data-f=\"";
        for (const char& letter : lines)
            out += letter == '\n' ? std::string_view("&#10;") : std::string_view(&letter, 1);
        out += "\"";
    }

    void add_label(std::string& out, const Box& box, unsigned y, const std::string& name) const {
        constexpr double pad = 3;
        const double frames_width = options_.width - 2 * svg::margin;
        const double room = percent(box.total) / 100 * frames_width - 2 * pad;
        if (room < 3 * svg::column) return;
        const auto fits = static_cast<std::size_t>(room / svg::column);
        const std::string label = fit_name(name, fits);
        if (label.empty()) return;
        out += "<text x=\"" + short_decimal(percent(box.start) + pad / frames_width * 100, 3) + "%\" y=\"" +
               std::to_string(y + size_.baseline) + "\">";
        append_xml(out, label);
        const std::string share = round_share(static_cast<double>(box.total), all_);
        const Box* below = &tree_.boxes[box.parent];
        while (below->hidden) below = &tree_.boxes[below->parent];
        const bool differs = box.depth == 0 || share != round_share(static_cast<double>(below->total), all_);
        if (label == name && differs && columns(label) + 1 + columns(share) <= fits) {
            out += "<tspan class=\"pc\" dx=\"7\">";  // librsvg drops spaces at the beginning of a tspan
            append_xml(out, share);
            out += "</tspan>";
        }
        out += "</text>";
    }

    const NamedProfile& profile_;
    const CallTree& tree_;
    const std::vector<Role>& roles_;
    const std::vector<std::string>& classes_;
    const Palette& palette_;
    const FlameGraphOptions& options_;
    RowSize size_;
    double all_;
};

std::uint64_t hash_of(const NamedProfile& profile, const CallTree& tree, const FlameGraphOptions& options) {
    std::uint64_t hash =
        stable_hash(options.title + "\n" + options.subtitle + "\n" + options.colors + (options.icicle ? "i" : "f"));
    for (const Box& box : tree.boxes) {
        hash = stable_hash(box_name(profile, tree, box), hash ^ box.total);
    }
    return hash;
}

/// `used`: classes of boxes.
std::vector<NamedShade> used_shades(const NamedProfile& profile, const CallTree& tree, const Palette& palette,
                                    const std::vector<Role>& roles, const std::vector<LegendEntry>& legend,
                                    std::vector<std::string> used) {
    for (const auto& [box, functions] : tree.folded)  // when the reader has opened them
        used.push_back(palette.class_of(profile, functions.front(), roles[functions.front()]));
    for (const LegendEntry& entry : legend) used.push_back(entry.color_class);
    std::ranges::sort(used);
    std::vector<NamedShade> shades = palette.classes();
    std::erase_if(shades, [&](const NamedShade& shade) { return !std::ranges::binary_search(used, shade.name); });
    return shades;
}

Result<SvgPage> page_of(const NamedProfile& profile, const FlameGraphOptions& options) {
    const auto palette = Palette::by_name(options.colors);
    if (!palette) return palette.error();
    auto tree = build_call_tree(profile, {.reverse = options.reverse,
                                          .min_width = options.min_width,
                                          .by_weight = options.by_weight.value_or(true),
                                          .gather_threads = !options.each_thread});
    if (!tree) return tree.error();
    const std::vector<Role> roles = function_roles(profile);
    if (!options.every_frame && options.min_width > 0) {
        if (!options.reverse) fold_rows(*tree, profile, roles);
        cut_towers(*tree, least_tower, options.brief ? least_brief_row : 0);
    }
    SvgPage page;
    page.hash = hash_of(profile, *tree, options);
    page.title = options.title.empty() ? default_title(profile) : options.title;
    page.subtitle = options.subtitle.empty()
                        ? default_subtitle(profile) + (options.reverse ? ", merged from the leaves" : "")
                        : options.subtitle;
    const std::vector<std::string> classes = box_classes(profile, *tree, *palette, roles);
    page.legend = legend_of(profile, *tree, *palette, roles, classes);
    page.shades = used_shades(profile, *tree, *palette, roles, page.legend, classes);
    page.facts = run_facts(profile);
    if (profile.has_run) page.answer = answer(profile);
    if (options.brief)
        std::erase_if(page.facts, [](const Fact& fact) {
            return fact.label != "Command" && fact.label != "Run" && fact.label != "Samples" && fact.label != "Time";
        });
    page.width = options.width;
    page.rows = tree->depth + 1;
    page.frames = Frames(profile, *tree, roles, classes, *palette, options).markup();
    return page;
}

}  // namespace

Result<Preview> preview_markup(const NamedProfile& profile, const Palette& palette, const FlameGraphOptions& options,
                               bool colored) {
    constexpr double least = 0.8;  // percent: about ten pixels
    // As the page first shows it, but for the narrowest.
    auto tree = build_call_tree(profile, {.reverse = options.reverse,
                                          .min_width = least,
                                          .by_weight = options.by_weight.value_or(true),
                                          .gather_threads = !options.each_thread});
    if (!tree) return tree.error();
    const std::vector<Role> roles = function_roles(profile);
    if (!options.reverse && !options.every_frame) fold_rows(*tree, profile, roles);
    const std::vector<std::string> classes =
        colored ? box_classes(profile, *tree, palette, roles) : std::vector(tree->boxes.size(), Palette::plain_class());
    FlameGraphOptions narrow = options;
    narrow.width = 880;  // what the table beside it leaves of 1,400 pixels: labels are made for that
    Preview preview;
    preview.picture = "<svg width=\"100%\" height=\"" + std::to_string((tree->depth + 1) * page_row.row) + "\">\n" +
                      Frames(profile, *tree, roles, classes, palette, narrow, page_row).plain_markup() + "</svg>";
    if (!colored) return preview;
    std::map<std::string, Shade> shades;
    for (const NamedShade& named : palette.classes()) shades[named.name] = named.shade;
    for (const LegendEntry& entry : legend_of(profile, *tree, palette, roles, classes)) {
        preview.legend += "<svg width=\"10\" height=\"10\"><rect fill=\"" +
                          std::string(shades[entry.color_class].light) + "\" width=\"10\" height=\"10\"/></svg>";
        append_xml(preview.legend, clean_text(entry.text));
    }
    return preview;
}

Result<void> write_svg(const NamedProfile& profile, const FlameGraphOptions& options, const ByteSink& out) {
    FlameGraphOptions fewer = options;
    auto page = page_of(profile, fewer);
    for (; page && fewer.brief && fewer.min_width > 0 && page->frames.size() > most_brief_bytes;
         page = page_of(profile, fewer))
        fewer.min_width *= 1.5;
    if (!page) return page.error();
    write_svg_page(*page, out);
    return {};
}

}  // namespace flameprobe
