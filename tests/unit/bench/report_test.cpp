#include "report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "figures.hpp"

using namespace flameprobe::bench;
using doctest::Approx;

namespace {

/// Ten seconds of load with two functions; "lock" costs `lock_ns` per unit, "work" always 800.
RunRecord run_of(unsigned repetition, double rate, std::uint64_t lock_ns) {
    RunRecord run;
    run.repetition = repetition;
    run.profiles = {"runs/x/1/profile.fprobe"};
    run.seconds = 10;
    run.work = rate * 10;
    const auto units = static_cast<std::uint64_t>(*run.work);
    run.functions["work"] = {800 * units, 800 * units};
    run.functions["lock"] = {lock_ns * units, lock_ns * units};
    run.functions["main"] = {0, (800 + lock_ns) * units};
    run.cpu_seconds = static_cast<double>((900 + lock_ns) * units) / 1e9;  // 100 ns per unit were not sampled
    run.samples = 100'000;
    run.sampled_share = static_cast<double>(800 + lock_ns) / static_cast<double>(900 + lock_ns);
    return run;
}

BenchFile bench_file() {
    auto file = parse_bench_file(
        "name = \"t\"\n[sweep]\nn = [1, 2, 4]\n[[scenario]]\nname = \"s\"\ncommand = [\"x\"]\n"
        "work = { pattern = \"(1)\", unit = \"requests\", per = \"second\" }\n",
        "t");
    REQUIRE(file);
    return *file;
}

Report report_of(const BenchFile& file) {
    Report report;
    report.name = "t <&> | *";
    report.repeat = 3;
    const auto points = points_of(file);
    for (const Point& point : points) {
        const double n = *point.sweep.at("n").number;
        std::vector<RunRecord> runs;
        for (unsigned i = 1; i <= 3; ++i)
            runs.push_back(run_of(i, 1000 * n / (1 + 0.1 * (n - 1)) + i, static_cast<std::uint64_t>(100 * n) + i));
        if (n == 4) runs[1].failure = "it fell over";
        report.points.push_back(point_report(point, runs));
    }
    report.scalings = scaling_reports(report.points);
    return report;
}

}  // namespace

TEST_CASE("cost per unit by function adds up to the CPU clock's") {
    const BenchFile file = bench_file();
    const Report report = report_of(file);
    const PointReport& point = report.points[0];
    CHECK(point.throughput->mean == Approx(1002));
    double sum = 0;
    for (const FunctionCost& function : point.functions) sum += function.cost.mean;
    CHECK(sum == Approx(point.cost.mean));
    CHECK(point.functions[0].name == "work");
    CHECK(point.functions[0].cost.mean == Approx(800));
    CHECK(*point.functions[0].cost.low < 800);
    const auto rest =
        std::find_if(point.functions.begin(), point.functions.end(), [](auto& f) { return f.name == "[not sampled]"; });
    REQUIRE(rest != point.functions.end());
    CHECK(rest->cost.mean == Approx(100));
}

TEST_CASE("allocations per unit are as uncertain as their samples are few, however well runs agree") {
    const BenchFile file = bench_file();
    std::vector<RunRecord> runs;
    for (unsigned i = 1; i <= 3; ++i) {
        runs.push_back(run_of(i, 1000, 100));
        const auto units = static_cast<std::uint64_t>(*runs.back().work);
        runs.back().allocations = {{"grow", {5000 * units, 5000 * units, 2 * units, 100}},
                                   {"main", {0, 5000 * units, 0, 0}}};
    }
    const auto point = point_report(points_of(file)[0], runs);
    const AllocationCosts costs = allocation_costs(point);
    REQUIRE(costs.functions.size() == 2);
    CHECK(costs.functions[0].name == "grow");
    CHECK(costs.functions[0].bytes.mean == Approx(5000));
    CHECK(costs.functions[0].number.mean == Approx(2));
    CHECK(*costs.functions[0].bytes.high - 5000 > 500 / 2);  // 100 samples are known within 10 %
    CHECK(costs.bytes.mean == Approx(5000));
    CHECK(costs.functions[1].total_bytes == Approx(5000));
    const auto again = read_run(run_record_json(runs[0]), "run");
    REQUIRE(again);
    CHECK(again->allocations.at("grow").samples == 100);
    Report report;
    report.points.push_back(point);
    CHECK(report_markdown(report).find("| grow | 4.9 KiB ± ") != std::string::npos);
}

TEST_CASE("a function whose cost grows with the variable is found, and Amdahl's law is fitted") {
    const BenchFile file = bench_file();
    const Report report = report_of(file);
    REQUIRE(report.scalings.size() == 1);
    const ScalingReport& scaling = report.scalings[0];
    CHECK(scaling.rows[2].efficiency == Approx(1 / 1.3).epsilon(0.01));
    CHECK(scaling.amdahl.sigma.value == Approx(0.1).epsilon(0.05));
    CHECK(scaling.growth[0].name == "lock");
    CHECK(scaling.growth[0].found);
    CHECK(scaling.growth[0].growth() == Approx(300).epsilon(0.01));
    for (const Growth& growth : scaling.growth) CHECK((growth.name == "lock" || !growth.found));
}

TEST_CASE("a parameter has as many digits as its interval tells") {
    CHECK(parameter_text({26664.5, 16738.6, 36590.1}) == "26,700 (16,700 to 36,600)");
    CHECK(parameter_text({1.0253, 0.3098, 1.7411}) == "1.03 (0.31 to 1.74)");
    CHECK(parameter_text({-0.0853, -0.6574, 0.4868}) == "-0.09 (-0.66 to 0.49)");
    CHECK(parameter_text({0.1, {}, {}}) == "0.100");
}

TEST_CASE("a report begins with the answer and its plot, then come pictures, then tables") {
    const BenchFile file = bench_file();
    Report report = report_of(file);
    report.points[0].pictures = {"pictures/one.svg"};
    const std::string html = report_html(report);
    const std::size_t answer = html.find("<p>s: from n 1 to 4 throughput grows to 3.0"), chart = html.find("<svg"),
                      picture = html.find("<figure"), table = html.find("<table");
    CHECK(answer < chart);
    CHECK(chart < picture);
    CHECK(picture < table);
    CHECK(table != std::string::npos);
    CHECK(html.find("; in proportion it would be 4 times, so 23.") != std::string::npos);
    CHECK(html.find("CPU time per request grows: lock by 300 ns.") != std::string::npos);
    for (const char* legend : {">ideal: in proportion<", ">Amdahl&#39;s law<", ">measured, 95 %<", "stroke-dasharray"})
        CHECK_MESSAGE(html.find(legend) != std::string::npos, legend);
    for (const char* tick : {">0<", ">1,000<", ">2,000<", ">3,000<"})
        CHECK_MESSAGE(html.find(tick) != std::string::npos, tick);
    CHECK(html.find("prefers-color-scheme:dark") != std::string::npos);
    CHECK(html.find("td{white-space:nowrap}") != std::string::npos);  // a number and its unit are on one line
    // Captions are as wide as the page, whatever the picture's width.
    CHECK(html.find("<figure><a href=\"pictures/one.svg\"><img style=\"width:") != std::string::npos);
    // Two answers of a scenario tell which values were held.
    report.scalings[0].others["io"] = {"2", 2};
    for (ScalingRow& row : report.scalings[0].rows) row.efficiency = 0.1;
    CHECK(report_html(report).find("<p>s io=2: from n 1 to 4 throughput falls to 0.4") != std::string::npos);
    // What is lost has its error, and is a range where that is of its size.
    ScalingRow& last = report.scalings[0].rows.back();
    last.efficiency = 0.5, last.error = 0.1;
    CHECK(report_html(report).find(", so 50 % (± 10) of it is lost.") != std::string::npos);
    CHECK(report_html(report).find(" throughput grows to 2.00 times (± 0.40)") != std::string::npos);
    CHECK(report_html(report).find("<td>50 ± 10 %</td>") != std::string::npos);
    last.error = 0.45;
    CHECK(report_html(report).find(" throughput does not change beyond the error: 2.0 times (± 1.8)") !=
          std::string::npos);
    CHECK(report_html(report).find(", so between 5 and 95 % of it is lost; more repeats narrow that.") !=
          std::string::npos);
    last.error = 0.55;
    CHECK(report_html(report).find(", so nothing is lost beyond the error.") != std::string::npos);
    // Without anything to scale: what a unit costs, and where.
    report.scalings.clear();
    report.points[0].runs[0].answer = "60 % in work, called by serve";
    CHECK(report_html(report).find("of CPU time per request: 60 % in work, called by serve.") != std::string::npos);
}

TEST_CASE("a figure has the digits that its error is worth") {
    CHECK(sized_text(4413, 8385) == "4,400");
    CHECK(sized_text(1.50044, 0.031) == "1.500");
    CHECK(sized_text(12, 4.968) == "12.0");
    CHECK(sized_text(-3.14159, 0.2) == "-3.14");
    CHECK(sized_text(7, 0) == "7.000");
    CHECK(cost_text(Interval{12345, 11000, 13690}) == "12.3 µs ± 1.3 µs");
    CHECK(cost_text(Interval{0.5, 0.4, 0.6}) == "0.50 ns ± 0.10 ns");
}

TEST_CASE("figures with one value for each run are shown with their interval") {
    const BenchFile file = bench_file();
    Report report = report_of(file);
    auto& runs = report.points[0].runs;
    const auto cell = [&report](const char* text) {
        return report_markdown(report).find("| " + std::string(text) + " |") != std::string::npos;
    };
    runs[0].voluntary_switches = 10, runs[1].voluntary_switches = 12, runs[2].voluntary_switches = 14;
    CHECK(cell("12.0 ± 5.0"));  // t of two degrees of freedom is 4.303, times 2 / √3
    runs[0].major_faults = 3;
    CHECK(cell("1.0 ± 4.3"));
    CHECK_FALSE(cell("threads blocked"));
    CHECK_FALSE(run_figures(report.points[0]).count("blocked_seconds"));
    runs[0].waits["futex"] = 1'000'000'000, runs[1].waits["futex"] = 3'000'000'000,
    runs[2].waits["futex"] = 2'000'000'000;
    CHECK(cell("threads blocked"));
    CHECK(cell("2.0 ± 2.5 s"));
    const auto json = nlohmann::json::parse(report_json(report));
    const auto& figures = json["scenarios"][0]["figures"];
    CHECK(figures["voluntary_switches"]["mean"] == 12);
    CHECK(figures["voluntary_switches"]["high"].get<double>() == Approx(16.968).epsilon(0.001));
    CHECK(figures["blocked_seconds"]["mean"] == 2);
    CHECK_FALSE(figures.contains("ipc"));
    // The relative error of a quotient is the root of the sum of squares.
    const auto& row = json["scaling"][0]["rows"][1];
    const auto relative = [](const auto& of) {
        return of["high"].template get<double>() / of["mean"].template get<double>() - 1;
    };
    const double error =
        std::hypot(relative(json["scaling"][0]["rows"][0]["work_per_second"]), relative(row["work_per_second"]));
    CHECK(row["efficiency_error"].get<double>() == Approx(row["efficiency"].get<double>() * error));
    CHECK(json["scaling"][0]["rows"][0]["efficiency_error"].is_null());
}

TEST_CASE("pictures of a scenario stand side by side on one scale") {
    const BenchFile file = bench_file();
    Report report = report_of(file);
    for (PointReport& point : report.points) point.pictures = {"pictures/" + point.title + ".svg", "pictures/x.png"};
    report.points[2].name = "another";
    report.points[2].cost.mean *= 100;
    std::string html = report_html(report);
    const auto count = [&html](const std::string& text) {
        std::size_t found = 0;
        for (std::size_t at = 0; (at = html.find(text, at)) != std::string::npos; ++at) ++found;
        return found;
    };
    CHECK(count("<div class=\"pictures\">") == 2);
    CHECK(count("</div>") == 2);
    CHECK(count("<h3>another</h3>") == 1);
    CHECK(count("style=\"width:100.000000%\"") == 2);  // the widest of each scenario
    const double share = 100 * report.points[0].cost.mean / report.points[1].cost.mean;
    CHECK(count("style=\"width:" + std::to_string(share) + "%\"") == 1);
    CHECK(count(">png</a>") == 3);
    CHECK(count("times as wide") == 0);
    // One that would be a speck is wider, and says so.
    report.points[1].cost.mean = 100 * report.points[0].cost.mean;
    html = report_html(report);
    CHECK(count("style=\"width:20.000000%\"") == 1);
    CHECK(count(", shown 20 times as wide") == 2);  // below it, and for who does not see it
}

TEST_CASE("report.json has the fields that scripts read") {
    const BenchFile file = bench_file();
    const std::string text = report_json(report_of(file));
    CHECK(text == report_json(report_of(file)));
    const auto json = nlohmann::json::parse(text);
    const auto& scenario = json["scenarios"][1];
    CHECK(scenario["name"] == "s");
    CHECK(scenario["sweep"]["n"] == 2);
    CHECK(scenario["runs"].size() == 3);
    CHECK(scenario["runs"][0]["profile"] == "runs/x/1/profile.fprobe");
    CHECK(scenario["runs"][0]["work_per_second"].is_number());
    CHECK(scenario["runs"][0]["cpu_ns_per_unit"].is_number());
    const auto& function = scenario["functions"][0];
    CHECK(function["low"] <= function["cpu_ns_per_unit"]);
    CHECK(function["cpu_ns_per_unit"] <= function["high"]);
    CHECK(json["scenarios"][2]["failures"][0]["reason"] == "it fell over");
    CHECK(json["scenarios"][2]["runs"].size() == 2);
}

TEST_CASE("a growing function links to its place in the flame graph of the largest value") {
    const BenchFile file = bench_file();
    Report report = report_of(file);
    report.points[2].pictures = {"pictures/s-n=4.svg"};
    report.scalings = scaling_reports(report.points);
    report.scalings[0].growth[0].name = "std::map<int>::operator+=_[i]";
    // A search finds what is shown, the short name. It is escaped for a regular expression, for an address and for
    // Markdown.
    const std::string address = "(pictures/s-n=4.svg#s=std%3A%3Amap%3A%3Aoperator%5C%2B=)";
    CHECK(report_markdown(report).find("[SVG]" + address) != std::string::npos);
    CHECK(report_html(report).find(address.substr(1, address.size() - 2)) != std::string::npos);
}

TEST_CASE("CPU time by system call, of root and of an ordinary user") {
    const BenchFile file = bench_file();
    Report report = report_of(file);
    CHECK(report_markdown(report).find("system calls") == std::string::npos);
    const auto add = [&report](const char* name, double total) {
        report.points[0].functions.push_back({name, {}, total, {}});
    };
    add("entry_SYSCALL_64_after_hwframe_[k]", 950);
    add("do_syscall_64_[k]", 950);
    add("__x64_sys_sendto_[k]", 300);
    add("__sys_sendto_[k]", 290);     // called by the one before
    add("tcp_sendmsg_[k]", 250);      // called by the one before
    add("do_writev_[k]", 500);        // a tail call of __x64_sys_writev
    add("[kernel: sendto]", 50);      // as an ordinary user's profile has it
    add("[kernel: page fault]", 60);  // no system call
    add("__x64_sys_mine", 70);        // a program's own function
    const auto costs = system_calls(report.points[0]);
    REQUIRE(costs.calls.size() == 2);
    CHECK(costs.calls[0].name == "writev");
    CHECK(costs.calls[0].cost == 500);
    CHECK(costs.calls[1].name == "sendto");
    CHECK(costs.calls[1].cost == 350);
    CHECK(costs.whole == 1000);
    const std::string markdown = report_markdown(report);
    CHECK(markdown.find("| others, and scheduling at a call's return | 150 ns |") != std::string::npos);
    CHECK(markdown.find("| all | 1.00 µs |") != std::string::npos);
}

TEST_CASE("instructions per cycle, where the machine counts them") {
    const BenchFile file = bench_file();
    Report report = report_of(file);
    CHECK(report_markdown(report).find("| IPC |") == std::string::npos);
    CHECK(nlohmann::json::parse(report_json(report))["scenarios"][0]["runs"][0]["ipc"].is_null());
    report.points[0].runs[0].ipc = 1.25;
    report.points[0].runs[1].ipc = 1.75;
    CHECK(report_markdown(report).find("| IPC |") != std::string::npos);
    CHECK(report_markdown(report).find("| 1.5 ± 3.2 |") != std::string::npos);  // of the runs that have one
    CHECK(nlohmann::json::parse(report_json(report))["scenarios"][0]["runs"][0]["ipc"] == 1.25);
}

TEST_CASE("Markdown and HTML show the same, and names are escaped") {
    const BenchFile file = bench_file();
    const Report report = report_of(file);
    const std::string markdown = report_markdown(report), html = report_html(report);
    CHECK(markdown.starts_with("# t \\<&> \\| \\*\n"));
    CHECK(html.find("<h1>t &lt;&amp;&gt; | *</h1>") != std::string::npos);
    for (const char* told : {"it fell over", "Amdahl", "Universal Scalability Law", "lock", "λ = 1,0"}) {
        CHECK(markdown.find(told) != std::string::npos);
        CHECK(html.find(told) != std::string::npos);
    }
}
