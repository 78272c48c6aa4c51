// The report for people, as Markdown and HTML.
#include <algorithm>

#include "document.hpp"
#include "figures.hpp"
#include "render/text.hpp"
#include "report.hpp"
#include "scaling.hpp"

namespace flameprobe::bench {

namespace {

constexpr std::size_t most_functions = 25, most_growing = 15, most_waits = 10, most_calls = 8;

/// Removes columns without any value.
void drop_empty_columns(Table& table) {
    for (std::size_t column = table.header.size(); column-- > 1;) {
        const bool empty = std::all_of(table.rows.begin(), table.rows.end(),
                                       [column](const auto& row) { return row[column].text.empty(); });
        const auto at = static_cast<std::ptrdiff_t>(column);
        if (!empty) continue;
        table.header.erase(table.header.begin() + at);
        for (auto& row : table.rows) row.erase(row.begin() + at);
    }
}

Table overview(const Report& report) {
    Table table{{"scenario", "throughput", "latency", "CPU per unit", "allocated per unit", "CPU seconds", "IPC",
                 "switches voluntary", "forced", "page faults minor", "major", "threads blocked", "preempted", "runs",
                 "flame graph"},
                {},
                {}};
    for (const PointReport& point : report.points) {
        const std::string runs =
            std::to_string(point.runs.size()) +
            (point.failures.empty() ? "" : ", " + std::to_string(point.failures.size()) + " failed");
        if (point.runs.empty()) {
            table.rows.push_back({point.title, "failed", "", "", "", "", "", "", "", "", "", "", "", runs, ""});
            continue;
        }
        const auto figure = [figures = run_figures(point)](const char* name, const std::string& unit = {}) {
            const auto found = figures.find(name);
            return found == figures.end() ? std::string() : rate_text(found->second) + unit;
        };
        const std::string throughput = point.throughput ? rate_text(*point.throughput) + " " + point.unit + "/s" : "";
        const std::string latency = point.latency ? rate_text(*point.latency) + " " + point.latency_unit : "";
        const AllocationCosts costs = allocation_costs(point);
        const std::string picture = point.pictures.empty() ? "" : point.pictures.front();
        table.rows.push_back({point.title, throughput, latency, cost_text(point.cost) + " per " + one_of(point.unit),
                              costs.functions.empty() ? "" : size_text(costs.bytes), figure("cpu_seconds"),
                              figure("ipc"), figure("voluntary_switches"), figure("involuntary_switches"),
                              figure("minor_faults"), figure("major_faults"), figure("blocked_seconds", " s"),
                              figure("preempted_seconds", " s"), runs,
                              picture.empty() ? Cell("") : Cell("SVG", picture)});
    }
    drop_empty_columns(table);
    return table;
}

std::string fit_text(const std::string& law, const ScalingFit& fit, bool with_kappa) {
    if (!fit.valid) return law + ": no fit: " + fit.why_not + ".";
    std::string text = law + ": σ = " + parameter_text(fit.sigma);
    if (with_kappa) text += ", κ = " + parameter_text(fit.kappa);
    text += ", λ = " + parameter_text(fit.lambda) + " a second; R² = " + fixed_text(fit.r_squared, 3);
    if (fit.best_n && with_kappa) text += "; highest throughput at N = " + short_decimal(*fit.best_n, 1);
    if (fit.sigma.value < 0 || fit.kappa.value < 0)
        text += "; a negative value: growth better than the law knows, or noise";
    return text + ".";
}

Cell function_cell(const std::string& name) {
    Cell cell(shown_name(name));
    cell.whole = name;
    return cell;
}

void add_growth(Document& document, const ScalingReport& scaling, const std::string& unit) {
    Table table{{"function", "cost at N = " + short_decimal(scaling.rows.front().n, 3),
                 "at N = " + short_decimal(scaling.rows.back().n, 3), "growth", "p", "in the flame graph"},
                {},
                {}};
    for (const Growth& growth : scaling.growth) {
        if (!growth.found || growth.growth() <= 0 || table.rows.size() == most_growing) continue;
        const bool drawn = !scaling.flame_graph.empty();
        table.rows.push_back({function_cell(growth.name), cost_text(growth.at_least), cost_text(growth.at_most),
                              cost_text(growth.growth()), growth.p < 0.0001 ? "< 0.0001" : fixed_text(growth.p, 4),
                              drawn ? Cell("SVG", scaling.flame_graph, label_of(growth.name)) : Cell("")});
    }
    drop_empty_columns(table);
    document.push_back(Heading{3, "Functions whose CPU time per " + one_of(unit) + " grows with " + scaling.variable});
    if (table.rows.empty())
        document.push_back(Paragraph{"None beyond noise (false discovery rate 5 %)."});
    else
        document.push_back(table);
}

void add_scaling(Document& document, const ScalingReport& scaling, const std::string& unit) {
    document.push_back(
        Heading{2, "Scaling: " + title_of(scaling.scenario, scaling.others) + " over " + scaling.variable});
    if (scaling.rows.size() < 2) {
        document.push_back(
            Paragraph{"No work is counted (work = { pattern = ... }), so there is no throughput to fit."});
        return;
    }
    Table table{{scaling.variable, unit + "/s", "efficiency"}, {}, {}};
    for (const ScalingRow& row : scaling.rows) {
        const double percent = 100 * row.efficiency, error = 100 * row.error.value_or(0);
        table.rows.push_back({short_decimal(row.n, 3), rate_text(row.throughput),
                              row.error ? sized_text(percent, error) + " ± " + sized_text(error, error) + " %"
                                        : percent_text(row.efficiency, 1)});
    }
    document.push_back(table);
    document.push_back(Paragraph{fit_text("Amdahl's law", scaling.amdahl, false)});
    document.push_back(Paragraph{fit_text("Universal Scalability Law", scaling.usl, true)});
    add_growth(document, scaling, unit);
}

void add_functions(Document& document, const PointReport& point) {
    document.push_back(Heading{3, point.title});
    Table table{{"function", "CPU per " + one_of(point.unit), "share", "with callees"}, {}, {}};
    double shown = 0;
    for (const FunctionCost& function : point.functions) {
        if (table.rows.size() == most_functions || function.cost.mean <= 0) break;
        shown += function.cost.mean;
        table.rows.push_back({function_cell(function.name), cost_text(function.cost),
                              percent_text(function.cost.mean, point.cost.mean), cost_text(function.total)});
    }
    if (const double rest = point.cost.mean - shown; rest > 0.0005 * point.cost.mean)
        table.rows.push_back({"all others", cost_text(rest), percent_text(rest, point.cost.mean), ""});
    document.push_back(table);
    for (const RunRecord& run : point.runs) {
        for (const std::string& remark : run.remarks)
            document.push_back(Paragraph{"Run " + std::to_string(run.repetition) + ": " + remark});
    }
}

/// A table for each point that has rows for it, below one heading.
template <class TableOf>
void add_tables(Document& document, const Report& report, const char* heading, const TableOf& table_of) {
    bool has_heading = false;
    for (const PointReport& point : report.points) {
        const Table table = table_of(point);
        if (table.rows.empty()) continue;
        if (!has_heading) document.push_back(Heading{2, heading});
        has_heading = true;
        document.push_back(Heading{3, point.title});
        document.push_back(table);
    }
}

Table calls_table(const PointReport& point) {
    const CallCosts costs = system_calls(point);
    Table table{{"system call", "CPU per " + one_of(point.unit), "share"}, {}, {}};
    if (costs.whole <= 0) return table;
    const auto add = [&](const std::string& name, double cost) {
        table.rows.push_back({name, cost_text(cost), percent_text(cost, point.cost.mean)});
    };
    double rest = costs.whole;
    for (const CallCost& call : costs.calls) {
        if (table.rows.size() == most_calls) break;
        add(call.name, call.cost);
        rest -= call.cost;
    }
    if (rest > 0.0005 * point.cost.mean) add("others, and scheduling at a call's return", rest);
    add("all", costs.whole);
    return table;
}

Table allocations_table(const PointReport& point) {
    const AllocationCosts costs = allocation_costs(point);
    const std::string unit = one_of(point.unit);
    Table table{{"function", "bytes per " + unit, "share", "allocations per " + unit, "bytes with callees"}, {}, {}};
    const double all = costs.bytes.mean;
    double rest = all;
    for (const AllocationCost& function : costs.functions) {
        if (table.rows.size() == most_functions || function.bytes.mean <= 0) break;
        rest -= function.bytes.mean;
        table.rows.push_back({function_cell(function.name), size_text(function.bytes),
                              percent_text(function.bytes.mean, all), rate_text(function.number),
                              size_text({function.total_bytes, {}, {}})});
    }
    if (table.rows.empty()) return table;
    if (rest > 0.0005 * all)
        table.rows.push_back({"all others", size_text({rest, {}, {}}), percent_text(rest, all), "", ""});
    table.rows.push_back({"all", size_text(costs.bytes), "", rate_text(costs.number), ""});
    return table;
}

/// Waiting time, as the mean over runs, by the last frame: a system call or [preempted], ...
Table waits_table(const PointReport& point) {
    WaitTimes sums;
    double units = 0;
    for (const RunRecord& run : point.runs) {
        units += run.units();
        for (const auto& [name, ns] : run.waits) sums[name] += ns;
    }
    std::vector<std::pair<std::string, std::uint64_t>> order(sums.begin(), sums.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    Table table{{"waits end in", "seconds of threads", "per " + one_of(point.unit)}, {}, {}};
    for (const auto& [name, ns] : order) {
        if (table.rows.size() == most_waits) break;
        std::vector<double> seconds;
        for (const RunRecord& run : point.runs) {
            const auto found = run.waits.find(name);
            seconds.push_back(found == run.waits.end() ? 0 : static_cast<double>(found->second) / 1e9);
        }
        table.rows.push_back({name, rate_text(interval_of(seconds)) + " s",
                              units > 0 ? cost_text(static_cast<double>(ns) / units) : ""});
    }
    return table;
}

void add_pictures(Document& document, const Report& report) {
    constexpr double least_width = 20;  // percent: below it there is no picture to be seen
    document.push_back(Heading{2, "Flame graphs"});
    document.push_back(Paragraph{
        "Those of a scenario are as wide as its CPU time per unit of work, so that their boxes can be compared."});
    std::map<std::string, double> widest;  // by scenario
    for (const PointReport& point : report.points) widest[point.name] = std::max(widest[point.name], point.cost.mean);
    std::string scenario;
    for (const PointReport& point : report.points) {
        if (point.pictures.empty()) continue;
        if (widest.size() > 1 && point.name != scenario) document.push_back(Heading{3, point.name});
        scenario = point.name;
        const std::vector<std::string> also(point.pictures.begin() + 1, point.pictures.end());
        const double width = 100 * point.cost.mean / widest[point.name];
        const std::string wider =
            width < least_width ? ", shown " + short_decimal(least_width / width, 1) + " times as wide" : "";
        document.push_back(Picture{point.pictures.front(),
                                   point.title + ": " + cost_text(point.cost) + " per " + one_of(point.unit) + wider,
                                   also, std::max(width, least_width)});
    }
}

std::string unit_of(const Report& report, const ScalingReport& scaling) {
    const auto point = std::find_if(report.points.begin(), report.points.end(),
                                    [&scaling](const PointReport& one) { return one.name == scaling.scenario; });
    return point == report.points.end() ? "units" : point->unit;
}

/// What was found out, and the plot of it.
void add_answer(Document& document, const Report& report) {
    constexpr std::size_t most = 6;
    std::size_t answers = 0;
    for (const ScalingReport& scaling : report.scalings) {
        const std::string unit = unit_of(report, scaling), answer = answer_of(scaling, unit);
        if (answer.empty()) continue;
        ++answers;
        document.push_back(Paragraph{answer});
        document.push_back(Chart{scaling_chart(scaling, unit)});
    }
    if (answers > 0) return;
    for (std::size_t i = 0; i < std::min(most, report.points.size()); ++i)
        document.push_back(Paragraph{answer_of(report.points[i])});
}

Document document_of(const Report& report) {
    Document document;
    document.push_back(Heading{1, report.name});
    Table facts{{"", ""}, {}, {1}};
    for (const auto& [name, value] : report.facts) facts.rows.push_back({name, value});
    add_answer(document, report);
    add_pictures(document, report);
    document.push_back(Heading{2, "Each scenario"});
    document.push_back(overview(report));
    document.push_back(Paragraph{
        "± is half of the 95 % interval over repetitions (Student's t). Context switches and page faults are of the "
        "program's whole life, everything else is of the load's time."});
    for (const PointReport& point : report.points) {
        for (const auto& [repetition, why] : point.failures)
            document.push_back(
                Paragraph{"Failed: " + point.title + ", run " + std::to_string(repetition) + ": " + why});
    }
    for (const ScalingReport& scaling : report.scalings) {
        add_scaling(document, scaling, unit_of(report, scaling));
    }
    document.push_back(Heading{2, "CPU time per unit of work, by function"});
    for (const PointReport& point : report.points) {
        if (!point.runs.empty()) add_functions(document, point);
    }
    add_tables(document, report, "CPU time in system calls", calls_table);
    add_tables(document, report, "Allocations per unit of work, by function", allocations_table);
    add_tables(document, report, "Where threads waited", waits_table);
    document.push_back(Heading{2, "How it was measured"});
    document.push_back(facts);
    return document;
}

}  // namespace

std::string report_markdown(const Report& report) { return to_markdown(document_of(report)); }
std::string report_html(const Report& report) {
    return to_html(document_of(report), report.name + " - FlameProbe bench");
}

}  // namespace flameprobe::bench
