// The HTML page, alone with its data or live.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/binary_text.hpp"
#include "outside/byte_stream.hpp"
#include "render/answer.hpp"
#include "render/assets.hpp"
#include "render/call_tree.hpp"
#include "render/describe.hpp"
#include "render/flame_graph.hpp"
#include "render/page_parts.hpp"
#include "render/run_facts.hpp"
#include "render/table_rows.hpp"
#include "render/text.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

namespace {

/// Clean text, shortened, and escaped for use between tags.
std::string page_xml(std::string_view text) {
    std::string out;
    append_xml(out, shorten(clean_text(text), 4000));
    return out;
}

/// The list of facts that can be opened below a page; empty if there are none. `min_width`: see PageColumns.
std::string page_facts(std::vector<Fact> facts, double min_width, std::string_view heading,
                       const std::string& processes) {
    if (min_width > 0) {
        facts.push_back({"Frames", "narrower than " + short_decimal(min_width, 6) +
                                       " % are gathered, there are too many for a page: numbers of single functions "
                                       "are at least what is shown"});
    }
    if (facts.empty()) return {};
    std::string out = "<details class=\"facts\"><summary>" + std::string(heading) + "</summary>" + processes + "<dl>\n";
    for (const Fact& fact : facts)
        out += "<dt>" + page_xml(fact.label) + "</dt><dd>" + page_xml(fact.value) + "</dd>\n";
    return out + "</dl></details>";
}

/// Writes the page's text with every @NAME@ replaced. Replacements are not searched for further names.
class PageTemplate {
public:
    PageTemplate& set(std::string_view name, std::string_view value) {
        values_.emplace(name, value);
        return *this;
    }
    void write(const ByteSink& out) const {
        for (std::string_view rest = assets::page_html; !rest.empty();) {
            const std::size_t at = std::min(rest.find('@'), rest.size()), end = rest.find('@', at + 1);
            out(rest.substr(0, at));
            rest.remove_prefix(at);
            if (rest.empty()) break;
            out(values_.at(rest.substr(0, end + 1 - at)));
            rest.remove_prefix(end + 1 - at);
        }
    }

private:
    std::map<std::string_view, std::string_view> values_{{"@CSS@", assets::page_css}, {"@JS@", assets::page_js}};
};

constexpr std::size_t summary_rows = 30;

/// Escapes line by line, since line breaks are not part of a name here.
std::string xml_lines(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out += page_xml(text.substr(0, end)) + "\n";
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// The functions with most of their own, for readers without JavaScript.
std::string summary_table(const NamedProfile& profile) {
    const FunctionTable table = table_rows(profile, false);
    const auto all = static_cast<double>(table.samples);
    const std::size_t shown = std::min(summary_rows, table.rows.size());
    std::string out = "<p>The interactive views need JavaScript. The functions with most of their own:</p>\n";
    out += "<table><tr><th>Self</th><th>Total</th><th>Function</th></tr>\n";
    const auto part = [&](std::uint64_t weight) {
        const std::string amount = unit_text(profile, weight);
        return "<td>" +
               page_xml(amount + (amount.empty() ? "" : " ") + percent_text(static_cast<double>(weight), all)) +
               "</td>";
    };
    for (std::size_t at = 0; at < shown; ++at) {
        const std::string& call = table.rows[at].call;
        const FunctionTotal& row = table.rows[at].total;
        out += "<tr>" + part(row.self) + part(row.total) + "<td>" +
               page_xml(call.empty() ? shorten(clean_text(short_name(profile, row.function)), 400) : call) +
               "</td></tr>\n";
    }
    return out + "</table>";
}

/// The facts of the footer and the provenance: a page has room for both.
std::vector<Fact> all_facts(const NamedProfile& profile) {
    std::vector<Fact> facts = run_facts(profile);
    for (const RunFact& fact : profile.run.facts) facts.push_back({fact.name, fact.value});
    for (const auto& [name, amount] : profile.work) facts.push_back({"counted " + name, count_text(amount)});
    for (const FileBuild& file : file_builds(profile)) {
        if (!file.build_id.empty()) facts.push_back({"build id", file.path + " " + hex_text(file.build_id)});
    }
    return facts;
}

/// What assets/page/data.js reads; `event` follows the elements' names.
std::string data_elements(const std::string& event, const PageData& data) {
    const auto element = [&](const char* name, const std::string& text) {
        return "<script id=\"" + std::string(name) + page_xml(event) + "\" type=\"text/plain\">" + text + "</script>\n";
    };
    return element("profile", data.facts) + element("columns", data.columns);
}

/// The graph that shows until the script has read the data.
std::string preview_element(const Preview& preview, const FlameGraphOptions& options) {
    return std::string("<div id=\"preview\"") + (options.icicle ? " class=\"down\"" : "") + " aria-hidden=\"true\">" +
           preview.picture + "</div>\n<noscript id=\"colours\"><p>" + preview.legend + "</p></noscript>";
}

struct PageText {
    std::string title, subtitle;
    std::string answer;
    std::string summary;  // markup
    std::vector<Fact> facts;
    std::string heading;  // of the facts, markup
};

Result<void> write_page(const NamedProfile& profile, const FlameGraphOptions& options, const PageSides* sides,
                        const PageText& text, const ByteSink& out) {
    const auto palette = Palette::by_name(options.colors);
    if (!palette) return palette.error();
    const auto data = page_data(profile, *palette, options, sides);
    if (!data) return data.error();
    const auto preview = preview_markup(profile, *palette, options, sides == nullptr);
    if (!preview) return preview.error();
    std::string elements = data_elements("", *data);
    FlameGraphOptions of_others = options;
    of_others.source = nullptr;  // it is of the first event, whose functions have other numbers
    for (const NamedProfile& other : profile.others) {
        const auto its = page_data(other, *palette, of_others);
        if (!its) return its.error();
        elements += data_elements("-" + other.run.event, *its);
    }
    const std::string title = page_xml(text.title), subtitle = page_xml(text.subtitle), answer = page_xml(text.answer);
    const std::string facts = wait_markup(profile) + lock_markup(profile) +
                              page_facts(text.facts, data->min_width, text.heading, process_rows(profile));
    PageTemplate()
        .set("@TITLE@", title)
        .set("@SUBTITLE@", subtitle)
        .set("@ANSWER@", answer)
        .set("@SUMMARY@", text.summary)
        .set("@LOADING@", "")
        .set("@PREVIEW@", preview_element(*preview, options))
        .set("@FACTS@", facts)
        .set("@POLICY@", assets::page_policy)
        .set("@LIVE@", "")
        .set("@DATA@", elements)
        .write(out);
    return {};
}

}  // namespace

Result<void> write_html(const NamedProfile& profile, const FlameGraphOptions& options, const ByteSink& out) {
    if (const auto drawn = weight_to_draw(profile); !drawn) return drawn.error();
    // Without names of functions the picture says little: what gives them is in sight.
    std::string heading = "How this was measured";
    if (const std::string names = name_advice(profile); !names.empty()) heading += ". " + names;
    return write_page(profile, options, nullptr,
                      {options.title.empty() ? default_title(profile) : options.title,
                       options.subtitle.empty() ? default_subtitle(profile) : options.subtitle, answer(profile),
                       summary_table(profile), all_facts(profile), page_xml(heading)},
                      out);
}

Result<void> write_comparison_html(const NamedProfile& profile, const PageSides& sides,
                                   const FlameGraphOptions& options, const ByteSink& out) {
    const std::string summary =
        "<p>The interactive views need JavaScript. What changed:</p>\n<pre>" + xml_lines(sides.summary) + "</pre>";
    return write_page(profile, options, &sides,
                      {!options.title.empty() ? options.title
                       : sides.title.empty()  ? "Comparison"
                                              : sides.title,
                       options.subtitle.empty() ? sides.names[0] + " → " + sides.names[1] : options.subtitle, "",
                       summary, sides.facts, "How this was compared"},
                      out);
}

std::string live_page(const NamedProfile* profile, const std::string& waits_for) {
    std::string page, preview;
    const FlameGraphOptions options;
    const auto palette = Palette::by_name(options.colors);
    if (profile != nullptr && palette)
        if (const auto markup = preview_markup(*profile, *palette, options, true))
            preview = preview_element(*markup, options);
    const std::string title = profile == nullptr ? "Live profile" : page_xml(default_title(*profile)),
                      subtitle = profile == nullptr ? "" : page_xml(default_subtitle(*profile)),
                      words = page_xml(waits_for), told = profile == nullptr ? "" : page_xml(answer(*profile));
    const std::string policy = std::string(assets::page_policy) + "; connect-src 'self'";
    PageTemplate()
        .set("@TITLE@", title)
        .set("@SUBTITLE@", subtitle)
        .set("@ANSWER@", told)
        .set("@LOADING@", words)
        .set("@SUMMARY@", "<p>The live page needs JavaScript. Without it: flameprobe top PID.</p>")
        .set("@PREVIEW@", preview)
        .set("@FACTS@", "<details class=\"facts\"><summary>How this is measured</summary><dl></dl></details>")
        .set("@POLICY@", policy)
        .set("@LIVE@", " data-live=\"\"")
        .set("@DATA@", "")
        .write([&page](std::string_view piece) { page += piece; });
    return page;
}

Result<std::string> live_page_data(const NamedProfile& profile, const FlameGraphOptions& options, bool running) {
    const auto palette = Palette::by_name(options.colors);
    if (!palette) return palette.error();
    const auto data = page_data(profile, *palette, options);
    if (!data) return data.error();
    nlohmann::ordered_json answer = {
        {"title", clean_text(default_title(profile))},  {"subtitle", clean_text(default_subtitle(profile))},
        {"answer", ::flameprobe::answer(profile)},      {"running", running},
        {"event", short_event_name(profile.run.event)}, {"events", profile.shown_events},
        {"facts", nlohmann::ordered_json::array()}};
    for (const Fact& fact : run_facts(profile))
        answer["facts"].push_back({clean_text(fact.label), clean_text(fact.value)});
    answer["profile"] = data->facts;
    answer["columns"] = data->columns;
    return answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace flameprobe
