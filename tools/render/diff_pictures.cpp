#include "diff_pictures.hpp"

#include <cmath>

#include "diff_answer.hpp"
#include "render/describe.hpp"
#include "render/palette.hpp"
#include "render/svg_page.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

/// How the profiles were compared: the lines below the picture.
std::vector<Fact> diff_facts(const ProfileDiff& diff, const DiffNames& names, SortBy by) {
    std::vector<Fact> facts = {
        {"Before", names.before + ": " + side_words(diff, false)},
        {"After", names.after + ": " + side_words(diff, true)},
        {"Width", std::string("the mean of a frame's ") + (diff.by_amount ? "amounts" : "shares of the time") +
                      " before and after, so that vanished frames are visible as well"},
        {"Colour", std::string("change of the ") + (diff.by_amount ? "amount" : "share") + " in " +
                       (by == SortBy::self ? "samples of its own" : "all samples") +
                       "; grey is within the 99.9 % interval of chance"}};
    for (const std::string& warning : diff.profile.warnings) facts.push_back({"Note", warning});
    return facts;
}

std::string color_of(const Change& change) {
    if (change.is_noise()) return "e0";
    const char sign = change.difference() > 0 ? 'p' : 'm';
    const double sum = change.before().value() + change.after().value();
    const double relative = std::abs(change.difference()) / sum;  // 1: only on one side
    const int step = change.appeared() || change.vanished() ? 4 : relative > 1.0 / 3 ? 3 : relative > 1.0 / 7 ? 2 : 1;
    return sign + std::to_string(step);
}

class Frames {
public:
    Frames(const ProfileDiff& diff, const DiffTree& tree, SortBy by, const FlameGraphOptions& options)
        : diff_(diff), tree_(tree), by_(by), options_(options), all_(static_cast<double>(tree.tree.boxes[0].total)) {}

    std::string markup() const {
        std::string out;
        for (std::size_t id = 0; id < tree_.tree.boxes.size(); ++id) add(out, id);
        return out;
    }

private:
    Change change(const BothWeights& of) const {
        return diff_.change(of.before, of.after, of.variance_before, of.variance_after, diff_.widening);
    }
    double share(std::uint64_t weight) const { return static_cast<double>(weight) / all_; }

    std::string side(Share part) const {
        return part_words(diff_, part) + (diff_.by_amount ? "" : " (" + count_text(part.count) + ")");
    }
    std::string line(const Change& change) const {
        std::string text =
            difference_words(diff_, change) + ": before " + side(change.before()) + ", after " + side(change.after());
        if (change.appeared()) return text + ", new";
        if (change.vanished()) return text + ", gone";
        return text + (change.is_noise() ? ", within noise" : ", noise " + noise_words(diff_, change));
    }

    std::string tooltip(const Box& box, const Change& total, const Change& self) const {
        std::string text = shorten(box_name(diff_.profile, tree_.tree, box), 600) + "\n";
        // The change that the colour shows comes first, since the page shows the beginning of the text beside the name.
        if (box.kind != BoxKind::function || options_.reverse) return text + line(total);
        return by_ == SortBy::self ? text + "self " + line(self) + "\ntotal " + line(total)
                                   : text + line(total) + "\nself " + line(self);
    }

    void add(std::string& out, std::size_t id) const {
        const Box& box = tree_.tree.boxes[id];
        const BoxShares& shares = tree_.shares[id];
        const Change total = change(shares.total), self = change(shares.self);
        const unsigned y = (options_.icicle ? box.depth : tree_.tree.depth - box.depth) * svg::row;
        const std::string name = box_name(diff_.profile, tree_.tree, box),
                          brief = box_label(diff_.profile, tree_.tree, box);
        out += "<g class=\"" + color_of(by_ == SortBy::self ? self : total) + "\"";
        if (box.kind == BoxKind::gathered || box.kind == BoxKind::omitted) out += " data-more=\"1\"";
        if (brief != name) {
            out += " data-n=\"";
            append_xml(out, brief);
            out += "\"";
        }
        out += "><title>";
        append_xml(out, tooltip(box, total, self));
        out += "</title><rect x=\"" + short_decimal(100 * share(box.start), 4) + "%\" y=\"" + std::to_string(y) +
               "\" width=\"" + short_decimal(100 * share(box.total), 4) + "%\" height=\"" +
               std::to_string(svg::row_fill) + "\"/>";
        add_label(out, box, y, by_ == SortBy::self ? self : total);
        out += "</g>\n";
    }

    void add_label(std::string& out, const Box& box, unsigned y, const Change& change) const {
        constexpr double pad = 3;
        const double frames_width = options_.width - 2 * svg::margin;
        const double room = share(box.total) * frames_width - 2 * pad;
        if (room < 3 * svg::column) return;
        const auto fits = static_cast<std::size_t>(room / svg::column);
        const std::string name = box_label(diff_.profile, tree_.tree, box), label = fit_name(name, fits);
        if (label.empty()) return;
        out += "<text x=\"" + short_decimal(100 * (share(box.start) + pad / frames_width), 3) + "%\" y=\"" +
               std::to_string(y + svg::baseline) + "\">";
        append_xml(out, label);
        const std::string sign = difference_words(diff_, change);
        if (label == name && columns(label) + 1 + columns(sign) <= fits) {
            out += "<tspan class=\"pc\" dx=\"7\">" + sign + "</tspan>";
        }
        out += "</text>";
    }

    const ProfileDiff& diff_;
    const DiffTree& tree_;
    const SortBy by_;
    const FlameGraphOptions& options_;
    const double all_;
};

std::vector<Amount> side_counts(const std::vector<std::uint64_t>& weights, const std::vector<std::uint64_t>& hits) {
    std::vector<Amount> counts;
    counts.reserve(weights.size());
    for (std::size_t at = 0; at < weights.size(); ++at) counts.push_back({weights[at], hits[at]});
    return counts;
}

}  // namespace

Result<void> write_diff_svg(ProfileDiff& diff, const DiffNames& names, SortBy by, const FlameGraphOptions& options,
                            const ByteSink& out) {
    const auto tree = build_diff_tree(diff, options.reverse, options.min_width);
    if (!tree) return tree.error();
    SvgPage page;
    page.title = options.title.empty() ? answer_of(diff).sentence : options.title;
    page.subtitle = options.subtitle.empty() ? names.before + " → " + names.after : options.subtitle;
    for (const ChangeShade& shade : change_shades) {
        page.shades.push_back({std::string(shade.name), shade.shade});
        page.legend.push_back({std::string(shade.name), std::string(shade.meaning)});
    }
    page.facts = diff_facts(diff, names, by);
    page.width = options.width;
    page.rows = tree->tree.depth + 1;
    page.frames = Frames(diff, *tree, by, options).markup();
    page.hash = stable_hash(page.frames);
    write_svg_page(page, out);
    return {};
}

Result<void> write_diff_html(ProfileDiff& diff, const DiffNames& names, SortBy by, const std::string& table,
                             const FlameGraphOptions& options, const ByteSink& out) {
    PageSides sides;
    sides.names = {names.before, names.after};
    sides.is_time = diff.is_time;
    sides.counts = {side_counts(diff.before, diff.hits_before), side_counts(diff.after, diff.hits_after)};
    sides.facts = diff_facts(diff, names, by);
    sides.summary = table;
    sides.by_self = by == SortBy::self;
    sides.by_amount = diff.by_amount;
    sides.widening = diff.widening;
    sides.widening_of = diff.widening_of;
    sides.units = diff.units;
    sides.unit = diff.unit;
    const DiffAnswer& answer = answer_of(diff);
    sides.title = answer.sentence;
    if (!answer.findings.empty()) sides.opens = answer.findings.front().callers;
    std::swap(diff.profile.functions, diff.descriptions);
    auto written = write_comparison_html(diff.profile, sides, options, out);
    std::swap(diff.profile.functions, diff.descriptions);
    return written;
}

}  // namespace flameprobe
