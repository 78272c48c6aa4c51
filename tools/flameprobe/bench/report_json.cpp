#include <nlohmann/json.hpp>

#include "report.hpp"

namespace flameprobe::bench {

namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json interval(const Interval& interval) {
    return {{"mean", interval.mean}, {"low", optional(interval.low)}, {"high", optional(interval.high)}};
}

Json sweep(const std::map<std::string, SweepValue>& values) {
    Json json = Json::object();
    for (const auto& [name, value] : values) {
        if (!value.number)
            json[name] = value.text;
        else if (value.text.find_first_not_of("-0123456789") == std::string::npos)
            json[name] = static_cast<std::int64_t>(*value.number);
        else
            json[name] = *value.number;
    }
    return json;
}

Json run_json(const RunRecord& run) {
    Json json = {{"repetition", run.repetition},
                 {"profile", run.profiles.front()},
                 {"profiles", run.profiles},
                 {"work", optional(run.work)},
                 {"work_per_second", optional(run.work_per_second())},
                 {"latency", optional(run.latency)},
                 {"ipc", optional(run.ipc)},
                 {"from_unix_ns", run.from_unix_ns},
                 {"to_unix_ns", run.to_unix_ns},
                 {"seconds", run.seconds},
                 {"cpu_seconds", run.cpu_seconds},
                 {"cpu_ns_per_unit", run.cpu_ns_per_unit()}};
    visit_counts(run, [&json](const char* name, const auto& value) { json[name] = value; });
    json["blocked_seconds"] = run.blocked_seconds();
    json["preempted_seconds"] = run.preempted_seconds();
    json["waits_ns"] = run.waits;
    json["remarks"] = run.remarks;
    return json;
}

Json function_json(const FunctionCost& function) {
    return {{"name", function.name},
            {"cpu_ns_per_unit", function.cost.mean},
            {"low", optional(function.cost.low)},
            {"high", optional(function.cost.high)},
            {"total_cpu_ns_per_unit", function.total},
            {"runs", function.values}};
}

template <class Item, class Convert>
Json list(const std::vector<Item>& items, const Convert& convert) {
    Json json = Json::array();
    for (const Item& item : items) json.push_back(convert(item));
    return json;
}

/// Null: there are none, or they were not asked for.
Json allocations_json(const PointReport& point) {
    const AllocationCosts costs = allocation_costs(point);
    if (costs.functions.empty()) return nullptr;
    // `runs`: what is compared with another bench.
    const auto values = [](const auto& of) {
        return Json{{"bytes_per_unit", interval(of.bytes)},
                    {"allocations_per_unit", interval(of.number)},
                    {"samples", of.samples},
                    {"runs", {{"bytes", of.bytes_of_runs}, {"allocations", of.number_of_runs}}}};
    };
    Json json = values(costs);
    json["functions"] = list(costs.functions, [&values](const AllocationCost& function) {
        Json one = {{"name", function.name}};
        one.update(values(function));
        one["total_bytes_per_unit"] = function.total_bytes;
        return one;
    });
    return json;
}

Json point_json(const PointReport& point) {
    Json json = {{"name", point.name}, {"sweep", sweep(point.sweep)}, {"unit", point.unit}};
    json["work_per_second"] = point.throughput ? interval(*point.throughput) : Json(nullptr);
    json["cpu_ns_per_unit"] = interval(point.cost);
    json["latency"] = point.latency ? interval(*point.latency) : Json(nullptr);
    json["latency_unit"] = point.latency_unit;
    json["figures"] = Json::object();
    for (const auto& [name, over_runs] : run_figures(point)) json["figures"][name] = interval(over_runs);
    json["runs"] = list(point.runs, run_json);
    json["failures"] = list(point.failures, [](const auto& failure) {
        return Json{{"repetition", failure.first}, {"reason", failure.second}};
    });
    json["functions"] = list(point.functions, function_json);
    json["allocations"] = allocations_json(point);
    json["pictures"] = point.pictures;
    return json;
}

Json fit_json(const ScalingFit& fit) {
    if (!fit.valid) return {{"why_not", fit.why_not}};
    const auto parameter = [](const Parameter& p) {
        return Json{{"value", p.value}, {"low", optional(p.low)}, {"high", optional(p.high)}};
    };
    return {{"lambda", parameter(fit.lambda)},
            {"sigma", parameter(fit.sigma)},
            {"kappa", parameter(fit.kappa)},
            {"r_squared", fit.r_squared},
            {"best_n", optional(fit.best_n)}};
}

Json scaling_json(const ScalingReport& scaling) {
    Json json = {{"scenario", scaling.scenario}, {"variable", scaling.variable}, {"others", sweep(scaling.others)}};
    json["rows"] = list(scaling.rows, [](const ScalingRow& row) {
        return Json{{"n", row.n},
                    {"work_per_second", interval(row.throughput)},
                    {"efficiency", row.efficiency},
                    {"efficiency_error", optional(row.error)}};
    });
    json["amdahl"] = fit_json(scaling.amdahl);
    json["usl"] = fit_json(scaling.usl);
    json["growth"] = list(scaling.growth, [](const Growth& growth) {
        return Json{{"name", growth.name},
                    {"cpu_ns_per_unit_at_least", growth.at_least},
                    {"cpu_ns_per_unit_at_most", growth.at_most},
                    {"p", growth.p},
                    {"beyond_noise", growth.found}};
    });
    return json;
}

}  // namespace

std::string report_json(const Report& report) {
    Json facts = Json::object();
    for (const auto& [name, value] : report.facts) facts[name] = value;
    const Json json = {{"format", "flameprobe-bench"},
                       {"format_version", 1},
                       {"name", report.name},
                       {"facts", facts},
                       {"repeat", report.repeat},
                       {"scenarios", list(report.points, point_json)},
                       {"scaling", list(report.scalings, scaling_json)}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flameprobe::bench
