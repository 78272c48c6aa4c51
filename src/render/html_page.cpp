#include <algorithm>
#include <tuple>

#include "base/hex.hpp"
#include "render/assets.hpp"
#include "render/describe.hpp"
#include "render/flame_graph.hpp"
#include "render/function_totals.hpp"
#include "render/html_data.hpp"
#include "render/numbers.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t summary_rows = 30;

std::string xml(std::string_view text) {
    std::string out;
    append_xml(out, shorten(clean_text(text), 4000));
    return out;
}

/// The functions with the most samples of their own, for readers without JavaScript.
std::string summary_table(const NamedProfile& profile) {
    Totals totals = function_totals(profile);
    const auto all = static_cast<double>(totals.samples);
    const auto order = [&](const FunctionTotal& one) {
        return std::make_tuple(~one.self, ~one.total, profile.strings.view(profile.functions[one.function].name),
                               one.function);
    };
    auto& rows = totals.functions;
    const auto shown = static_cast<std::ptrdiff_t>(std::min(summary_rows, rows.size()));
    std::partial_sort(rows.begin(), rows.begin() + shown, rows.end(),
                      [&](const auto& a, const auto& b) { return order(a) < order(b); });
    std::string out =
        "<p>The interactive views need JavaScript. The functions with the most samples of their own:</p>\n";
    out += "<table><tr><th>Self</th><th>Total</th><th>Function</th></tr>\n";
    for (auto row = rows.begin(); row != rows.begin() + shown; ++row) {
        out += "<tr><td>" + xml(percent_text(static_cast<double>(row->self), all)) + "</td><td>" +
               xml(percent_text(static_cast<double>(row->total), all)) + "</td><td>" +
               xml(shorten(clean_text(profile.strings.view(profile.functions[row->function].name)), 400)) +
               "</td></tr>\n";
    }
    return out + "</table>";
}

/// The footer's and the provenance: a page has room for them.
std::vector<Fact> all_facts(const NamedProfile& profile) {
    std::vector<Fact> facts = run_facts(profile);
    for (const RunFact& fact : profile.run.facts) facts.push_back({fact.name, fact.value});
    for (const auto& [name, amount] : profile.work) facts.push_back({"counted " + name, count_text(amount)});
    for (const Mapping& mapping : profile.mappings) {
        if (mapping.kind == MappingKind::file && !mapping.build_id.empty())
            facts.push_back({"build id", mapping.path + " " + hex_text(mapping.build_id)});
    }
    return facts;
}

std::string facts_list(std::vector<Fact> facts, double min_width) {
    if (min_width > 0) {
        facts.push_back({"Frames", "narrower than " + short_decimal(min_width, 6) +
                                       " % are gathered, there are too many for a page: numbers of single functions "
                                       "are at least what is shown"});
    }
    if (facts.empty()) return {};
    std::string out = "<details class=\"facts\"><summary>How this was measured</summary><dl>\n";
    for (const Fact& fact : facts) out += "<dt>" + xml(fact.label) + "</dt><dd>" + xml(fact.value) + "</dd>\n";
    return out + "</dl></details>";
}

/// What inflate() of assets/page/data.js reads; `event` follows the elements' names.
std::string data_elements(const std::string& event, const PageData& data) {
    const auto element = [&](const char* name, const std::string& text) {
        return "<script id=\"" + std::string(name) + xml(event) + "\" type=\"text/plain\">" + text + "</script>\n";
    };
    return element("profile", data.facts) + element("columns", data.columns);
}

/// Writes the page's text with every @NAME@ replaced; what is put in is never searched.
class Template {
public:
    Template& set(std::string_view name, std::string_view value) {
        values_.emplace_back(name, value);
        return *this;
    }
    void write(std::string_view text, const ByteSink& out) const {
        while (!text.empty()) {
            std::size_t first = text.size();
            const std::pair<std::string_view, std::string_view>* found = nullptr;
            for (const auto& value : values_) {
                const std::size_t at = text.find(value.first);
                if (at < first) {
                    first = at;
                    found = &value;
                }
            }
            out(text.substr(0, first));
            if (found == nullptr) return;
            out(found->second);
            text.remove_prefix(first + found->first.size());
        }
    }

private:
    std::vector<std::pair<std::string_view, std::string_view>> values_;
};

}  // namespace

Result<void> write_html(const NamedProfile& profile, const FlameGraphOptions& options, const ByteSink& out) {
    const auto palette = Palette::by_name(options.colors);
    if (!palette) return palette.error();
    const auto data = page_data(profile, *palette, options);
    if (!data) return data.error();
    std::string others;
    for (const NamedProfile& other : profile.others) {
        const auto its = page_data(other, *palette, options);
        if (!its) return its.error();
        others += data_elements("-" + other.run.event, *its);
    }
    const std::string title = xml(options.title.empty() ? default_title(profile) : options.title);
    const std::string subtitle = xml(options.subtitle.empty() ? default_subtitle(profile) : options.subtitle);
    const std::string summary = summary_table(profile);
    const std::string elements = data_elements("", *data) + others;
    const std::string facts = facts_list(all_facts(profile), data->min_width);
    Template()
        .set("@TITLE@", title)
        .set("@SUBTITLE@", subtitle)
        .set("@SUMMARY@", summary)
        .set("@FACTS@", facts)
        .set("@POLICY@", assets::page_policy)
        .set("@DATA@", elements)
        .set("@CSS@", assets::page_css)
        .set("@JS@", assets::page_js)
        .write(assets::page_html, out);
    return {};
}

}  // namespace flameprobe
