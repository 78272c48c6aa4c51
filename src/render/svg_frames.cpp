#include <algorithm>
#include <map>

#include "render/call_tree.hpp"
#include "render/describe.hpp"
#include "render/flame_graph.hpp"
#include "render/numbers.hpp"
#include "render/palette.hpp"
#include "render/run_facts.hpp"
#include "render/svg_page.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

class Frames {
public:
    Frames(const NamedProfile& profile, const CallTree& tree, const Palette& palette, const FlameGraphOptions& options)
        : profile_(profile),
          tree_(tree),
          palette_(palette),
          options_(options),
          all_(static_cast<double>(tree.boxes[0].total)) {}

    std::string markup() const {
        std::string out;
        for (const Box& box : tree_.boxes) add_frame(out, box);
        return out;
    }

private:
    double percent(std::uint64_t weight) const { return static_cast<double>(weight) / all_ * 100; }

    void add_frame(std::string& out, const Box& box) const {
        const unsigned y = (options_.icicle ? box.depth : tree_.depth - box.depth) * svg::row;
        out += "<g class=\"" + palette_.class_of(profile_, box) + "\"><title>";
        append_xml(out,
                   box_tooltip(profile_, tree_, box, {.self = !options_.reverse, .min_width = options_.min_width}));
        out += "</title><rect x=\"" + short_decimal(percent(box.start), 4) + "%\" y=\"" + std::to_string(y) +
               "\" width=\"" + short_decimal(percent(box.total), 4) + "%\" height=\"" + std::to_string(svg::row_fill) +
               "\"/>";
        add_label(out, box, y);
        out += "</g>\n";
    }

    void add_label(std::string& out, const Box& box, unsigned y) const {
        constexpr double pad = 3;
        const double room = percent(box.total) / 100 * svg::frames_width - 2 * pad;
        if (room < 3 * svg::column) return;
        const auto fits = static_cast<std::size_t>(room / svg::column);
        const std::string name = box_name(profile_, tree_, box);
        const std::string label = fit_columns(name, fits);
        if (label.empty()) return;
        out += "<text x=\"" + short_decimal(percent(box.start) + pad / svg::frames_width * 100, 3) + "%\" y=\"" +
               std::to_string(y + svg::baseline) + "\">";
        append_xml(out, label);
        const std::string share = percent_text(static_cast<double>(box.total), all_);
        if (label == name && columns(label) + 1 + columns(share) <= fits) {
            out += "<tspan class=\"pc\" dx=\"7\">";  // librsvg drops spaces at the beginning of a tspan
            append_xml(out, share);
            out += "</tspan>";
        }
        out += "</text>";
    }

    const NamedProfile& profile_;
    const CallTree& tree_;
    const Palette& palette_;
    const FlameGraphOptions& options_;
    double all_;
};

/// The kinds that are in the picture, or the modules with the most time of their own.
std::vector<LegendEntry> legend_of(const NamedProfile& profile, const CallTree& tree, const Palette& palette) {
    std::map<FrameKind, std::string> kinds;
    std::map<std::string_view, std::pair<std::uint64_t, std::string>> modules;
    for (const Box& box : tree.boxes) {
        if (box.kind != BoxKind::function) continue;
        const Function& function = profile.functions[box.function];
        const bool own_color =
            !palette.by_module() || (function.kind != FrameKind::user && function.kind != FrameKind::inlined);
        if (own_color) {
            kinds.emplace(function.kind, palette.class_of(profile, box));
        } else {
            const std::string_view path = profile.strings.view(function.module);
            auto& [self, color] = modules[path.substr(path.rfind('/') + 1)];
            self += box.self;
            color = palette.class_of(profile, box);
        }
    }
    std::vector<LegendEntry> legend;
    std::vector<std::pair<std::string_view, std::pair<std::uint64_t, std::string>>> busiest(modules.begin(),
                                                                                            modules.end());
    std::stable_sort(busiest.begin(), busiest.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    if (busiest.size() > 6) busiest.resize(6);
    for (const auto& [name, module] : busiest)
        legend.push_back({module.second, name.empty() ? "no file" : std::string{name}});
    for (const auto& [kind, color] : kinds) legend.push_back({color, std::string{kind_text(kind)}});
    return legend;
}

std::uint64_t hash_of(const NamedProfile& profile, const CallTree& tree, const FlameGraphOptions& options) {
    std::uint64_t hash =
        stable_hash(options.title + "\n" + options.subtitle + "\n" + options.colors + (options.icicle ? "i" : "f"));
    for (const Box& box : tree.boxes) {
        hash = stable_hash(box_name(profile, tree, box), hash ^ box.total);
    }
    return hash;
}

std::vector<NamedShade> used_shades(const NamedProfile& profile, const CallTree& tree, const Palette& palette) {
    std::vector<NamedShade> shades = palette.classes();
    std::vector<std::string> used;
    for (const Box& box : tree.boxes) used.push_back(palette.class_of(profile, box));
    std::sort(used.begin(), used.end());
    std::erase_if(shades,
                  [&](const NamedShade& shade) { return !std::binary_search(used.begin(), used.end(), shade.name); });
    return shades;
}

}  // namespace

Result<void> write_svg(const NamedProfile& profile, const FlameGraphOptions& options, const ByteSink& out) {
    const auto palette = Palette::by_name(options.colors);
    if (!palette) return palette.error();
    const auto tree = build_call_tree(profile, {.reverse = options.reverse, .min_width = options.min_width});
    if (!tree) return tree.error();
    SvgPage page;
    page.hash = hash_of(profile, *tree, options);
    page.title = options.title.empty() ? default_title(profile) : options.title;
    page.subtitle = options.subtitle.empty()
                        ? default_subtitle(profile) + (options.reverse ? ", merged from the leaves" : "")
                        : options.subtitle;
    page.shades = used_shades(profile, *tree, *palette);
    page.legend = legend_of(profile, *tree, *palette);
    page.facts = run_facts(profile);
    page.rows = tree->depth + 1;
    page.frames = Frames(profile, *tree, *palette, options).markup();
    write_svg_page(page, out);
    return {};
}

}  // namespace flameprobe
