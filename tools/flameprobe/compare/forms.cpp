#include "forms.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "figures.hpp"
#include "render/text.hpp"

namespace flameprobe::compare {

namespace {

using bench::Document;
using bench::Heading;
using bench::Paragraph;
using bench::Table;

std::string value_text(const Change& change, double value) {
    const auto whole = static_cast<std::uint64_t>(std::llround(std::max(value, 0.0)));
    if (change.kind == Kind::bytes || change.kind == Kind::function_bytes) return bytes_text(whole);
    if (change.kind == Kind::allocations) return short_decimal(value, 2);
    if (change.kind == Kind::throughput) return bench::rate_text(value) + " " + change.unit + "/s";
    return bench::cost_text(value);
}

bench::Cell what_cell(const Change& change, bool long_names) {
    if (change.kind == Kind::throughput) return "throughput";
    if (change.kind == Kind::cost) return "CPU per unit of work";
    if (change.kind == Kind::bytes) return "bytes per unit of work";
    if (change.kind == Kind::allocations) return "allocations per unit of work";
    bench::Cell cell((long_names ? change.name : bench::shown_name(change.name)) +
                     (change.kind == Kind::function_bytes ? " (bytes)" : ""));
    cell.whole = change.name;
    return cell;
}

std::string change_of(const Change& change) {
    const bench::Comparison& c = change.comparison;
    if (c.before == 0) return "new";
    std::string text = bench::change_text(c.change());
    if (c.low)
        text += " (" + bench::change_text(*c.low / c.before) + " to " + bench::change_text(*c.high / c.before) + ")";
    return text;
}

Table table_of(const Judgement& judgement, bool found, std::size_t most, bool long_names) {
    Table table{{"what", "scenario", "before", "after", "change (95 %)", "p"}, {}, {1}};
    for (const Change& change : judgement.changes) {
        if (change.found != found || table.rows.size() == most) continue;
        const bench::Comparison& c = change.comparison;
        std::vector<bench::Cell> row = {
            what_cell(change, long_names), change.where,      value_text(change, c.before),
            value_text(change, c.after),   change_of(change), c.p < 0.0001 ? "< 0.0001" : fixed_text(c.p, 4)};
        table.rows.push_back(std::move(row));
    }
    return table;
}

const char* kind_name(Kind kind) {
    // In the order of Kind.
    constexpr std::array names = {"throughput",           "cpu_ns_per_unit", "bytes_per_unit",
                                  "allocations_per_unit", "function",        "function_bytes_per_unit"};
    return names[static_cast<std::size_t>(kind)];
}

}  // namespace

Document document_of(const Judgement& judgement, const std::string& before, const std::string& after, bool long_names) {
    Document document;
    document.push_back(Heading{2, "FlameProbe: " + before + " → " + after});
    const auto found = static_cast<std::size_t>(
        std::count_if(judgement.changes.begin(), judgement.changes.end(), [](const Change& c) { return c.found; }));
    const std::string rate = short_decimal(100 * judgement.rate, 2) + " %";
    document.push_back(Paragraph{
        found == 0 ? "Nothing changed beyond noise (" + std::to_string(judgement.changes.size()) + " figures compared)."
                   : std::to_string(found) + " of " + std::to_string(judgement.changes.size()) +
                         " figures changed beyond noise (at most " + rate + " of such findings are false)."});
    if (found > 0) document.push_back(table_of(judgement, true, 100, long_names));
    Table rest = table_of(judgement, false, found > 0 ? 10 : 15, long_names);
    if (!rest.rows.empty()) {
        document.push_back(Heading{3, "Within noise"});
        document.push_back(rest);
    }
    for (const std::string& remark : judgement.remarks) document.push_back(Paragraph{remark});
    return document;
}

std::string judgement_json(const Judgement& judgement, const std::string& before, const std::string& after) {
    using Json = nlohmann::ordered_json;
    Json changes = Json::array();
    for (const Change& change : judgement.changes) {
        const bench::Comparison& c = change.comparison;
        const auto optional = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
        changes.push_back({{"kind", kind_name(change.kind)},
                           {"scenario", change.where},
                           {"name", change.name},
                           {"before", c.before},
                           {"after", c.after},
                           {"difference", c.difference},
                           {"difference_low", optional(c.low)},
                           {"difference_high", optional(c.high)},
                           {"change", c.before == 0 ? Json(nullptr) : Json(c.change())},
                           {"p", c.p},
                           {"beyond_noise", change.found},
                           {"worse", change.worse()}});
    }
    const Json json = {{"format", "flameprobe-compare"},
                       {"format_version", 1},
                       {"before", before},
                       {"after", after},
                       {"of", "runs"},
                       {"false_discovery_rate", judgement.rate},
                       {"worst", judgement.worst()},
                       {"changes", changes},
                       {"remarks", judgement.remarks}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flameprobe::compare
