#include "render/svg_page.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "render/assets.hpp"
#include "render/describe.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr unsigned head_row = 19;

/// Below title, answer, subtitle and legend.
unsigned frames_top(const SvgPage& page) { return 98 + (page.answer.empty() ? 0 : head_row); }

constexpr unsigned fact_row = 17;
constexpr unsigned fact_x = 100;
constexpr double fact_column = 6.45;        // mean width of a letter of the 12 px text font
constexpr std::size_t longest_fact = 4000;  // bytes: a command line can have megabytes

std::string id_of(std::uint64_t hash) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, hash & 0xffffffffff, 36);
    return "fp" + std::string(digits, end.ptr);
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (std::size_t at = 0;;) {
        const std::size_t next = text.find(from, at);
        out += text.substr(at, next - at);
        if (next == std::string_view::npos) return out;
        out += to;
        at = next + from.size();
    }
}

std::string shade_rule(const std::string& id, const NamedShade& shade, std::string_view color) {
    return "#" + id + " ." + shade.name + " rect,#" + id + " tspan." + shade.name + "{fill:" + std::string{color} +
           "}\n";
}

void add_style(std::string& out, const std::string& id, const SvgPage& page) {
    out += "<style>\n" + replace_all(assets::svg_css, "#fp", "#" + id);
    for (const NamedShade& shade : page.shades) out += shade_rule(id, shade, shade.shade.light);
    out += "@media (prefers-color-scheme: dark) {\n";
    for (const NamedShade& shade : page.shades) out += shade_rule(id, shade, shade.shade.dark);
    out += "}\n</style>\n";
}

void add_text(std::string& out, std::string_view attributes, std::string_view clean) {
    out += "<text ";
    out += attributes;
    out += ">";
    append_xml(out, clean);
    out += "</text>\n";
}

std::size_t letters(unsigned pixels, double column) {
    return static_cast<std::size_t>(std::max(pixels, 100U) / column);
}

void add_header(std::string& out, const SvgPage& page) {
    // The script keeps the header visible while a tall graph is scrolled, so it needs an opaque background.
    out += "<g class=\"head\"><rect class=\"page\" width=\"100%\" height=\"" + std::to_string(frames_top(page) - 4) +
           "\"/>\n";
    add_text(out, R"(class="title" x="12" y="32")",
             fit_columns(clean_text(page.title), letters(page.width - 2 * svg::margin, 11.2)));
    unsigned y = 53;
    const auto line = [&](const std::string& kind, const std::string& text, double column) {
        add_text(out, "class=\"" + kind + R"(" x="12" y=")" + std::to_string(y) + "\"",
                 fit_columns(clean_text(text), letters(page.width - 2 * svg::margin, column)));
    };
    if (!page.answer.empty()) {
        line("answer", page.answer, 8.4);
        y += head_row;
    }
    line("subtitle", page.subtitle, 7.84);
    const std::string legend_y = std::to_string(y + 30);
    out += R"(<text class="legend" x="12" y=")" + legend_y + "\">";
    bool first = true;
    for (const LegendEntry& entry : page.legend) {
        out += "<tspan class=\"" + entry.color_class + (first ? "\">■</tspan>" : "\" dx=\"16\">■</tspan>");
        out += "<tspan dx=\"5\">";
        append_xml(out, fit_columns(clean_text(entry.text), 40));
        out += "</tspan>";
        first = false;
    }
    out += "</text>\n<text class=\"details\" x=\"12\" y=\"" + legend_y + "\"></text>\n</g>\n";
}

/// Lines of at most `room` columns, broken at spaces where there are any.
std::vector<std::string> break_lines(std::string_view clean, std::size_t room) {
    std::vector<std::string> lines(1);
    while (!clean.empty()) {
        const std::size_t space = clean.find(' ');
        const std::string_view word = clean.substr(0, space);
        clean.remove_prefix(space == std::string_view::npos ? clean.size() : space + 1);
        const std::size_t used = columns(lines.back());
        if (used > 0 && used + 1 + columns(word) > room) lines.emplace_back();
        if (!lines.back().empty()) lines.back() += ' ';
        lines.back() += word;
    }
    for (std::string& line : lines) line = fit_columns(line, room + 10);
    return lines;
}

/// Returns the picture's height.
unsigned add_footer(std::string& out, const std::vector<Fact>& facts, unsigned width, unsigned y) {
    if (facts.empty()) return y + 4;
    out += "<rect class=\"rule\" x=\"12\" y=\"" + std::to_string(y + 6) + "\" width=\"" +
           std::to_string(width - 2 * svg::margin) + "\" height=\"1\"/>\n";
    y += 30;
    for (const Fact& fact : facts) {
        const std::string at = "y=\"" + std::to_string(y) + "\"";
        add_text(out, "class=\"key\" x=\"12\" " + at, clean_text(fact.label));
        out += "<text class=\"fact\" x=\"" + std::to_string(fact_x) + "\" " + at + ">";
        unsigned lines = 0;
        for (const std::string& line : break_lines(shorten(clean_text(fact.value), longest_fact),
                                                   letters(width - fact_x - svg::margin, fact_column))) {
            out += "<tspan x=\"" + std::to_string(fact_x) + "\" dy=\"" + std::to_string(lines++ == 0 ? 0 : fact_row) +
                   "\">";
            append_xml(out, line);
            out += "</tspan>";
        }
        out += "</text>\n";
        y += lines * fact_row;
    }
    return y + 4;
}

/// Of the palette `module`: the modules with the most time of their own.
std::vector<LegendEntry> legend_of_modules(const NamedProfile& profile, const CallTree& tree,
                                           const std::vector<std::string>& classes) {
    std::map<std::string, std::pair<std::uint64_t, std::string>> modules;
    for (std::size_t at = 0; at < tree.boxes.size(); ++at) {
        const Box& box = tree.boxes[at];
        if (box.kind != BoxKind::function || classes[at].front() != 'm') continue;
        const std::string_view path = profile.strings.view(profile.functions[box.function].module);
        auto& [self, color] = modules[module_name(profile, path)];
        self += box.self;
        color = classes[at];
    }
    std::vector<std::pair<std::string, std::pair<std::uint64_t, std::string>>> busiest(modules.begin(), modules.end());
    std::ranges::stable_sort(busiest, [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    if (busiest.size() > 6) busiest.resize(6);
    std::vector<LegendEntry> legend;
    for (const auto& [name, module] : busiest) legend.push_back({module.second, name.empty() ? "no file" : name});
    return legend;
}

}  // namespace

void write_svg_page(const SvgPage& page, const ByteSink& out) {
    const std::string id = id_of(page.hash);
    const unsigned frames_height = page.rows * svg::row;
    std::string footer;
    const std::string height =
        std::to_string(add_footer(footer, page.facts, page.width, frames_top(page) + frames_height));

    const std::string width = std::to_string(page.width), margin = std::to_string(svg::margin);
    std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    head += "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"" + id + "\" width=\"" + width + "\" height=\"" + height +
            "\" viewBox=\"0 0 " + width + " " + height + "\" aria-label=\"";
    append_xml(head, clean_text(page.title));
    head += "\">\n";
    add_style(head, id, page);
    head += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
    add_header(head, page);
    head += "<svg class=\"frames\" data-row=\"" + std::to_string(svg::row) + "\" x=\"" + margin + "\" y=\"" +
            std::to_string(frames_top(page)) + "\" width=\"" + std::to_string(page.width - 2 * svg::margin) +
            "\" height=\"" + std::to_string(frames_height) + "\">\n";
    out(head);
    out(page.frames);
    out("</svg>\n");
    out(footer);
    out("<script><![CDATA[\n(() => {\n");
    out(assets::svg_js);
    out("})();\n]]></script>\n</svg>\n");
}

// Of the other palettes: the roles in the picture, each with the middle shade of its ramp.
std::vector<LegendEntry> legend_of(const NamedProfile& profile, const CallTree& tree, const Palette& palette,
                                   const std::vector<Role>& roles, const std::vector<std::string>& classes) {
    std::vector<LegendEntry> legend =
        palette.by_module() ? legend_of_modules(profile, tree, classes) : std::vector<LegendEntry>{};
    std::set<Role> present;
    bool inlined = false;
    for (const Box& box : tree.boxes) {
        if (box.kind != BoxKind::function) continue;
        const FrameKind kind = profile.functions[box.function].kind;
        const bool code = kind == FrameKind::user || kind == FrameKind::inlined;
        if (code && palette.by_module()) continue;
        present.insert(roles[box.function]);
        inlined = inlined || kind == FrameKind::inlined;
    }
    for (const Role role : present)
        legend.push_back({std::string{look_of(role).letter} + "0", std::string{look_of(role).text}});
    if (inlined) legend.push_back({"v0", "paler: inlined"});
    return legend;
}

}  // namespace flameprobe
