// `flameprobe compare` on synthetic measurements, drawn at random from known costs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "bench_sides.hpp"
#include "diff_answer.hpp"
#include "forms.hpp"
#include "measurement.hpp"

using namespace flameprobe;
using namespace flameprobe::compare;

namespace {

constexpr double samples_per_run = 20'000;  // 20 s of CPU time at 999 Hz
constexpr double cost_per_unit = 10'000;    // ns

/// Simulates benches of a program with forty functions: f0 has 20 % of the cost, f1 to f39 share the rest, each less
/// than the one before. The cost of all functions varies from run to run with the standard deviation `machine_noise`
/// (`correlation`: of a run with the next one), the cost of f0 also with `f0_noise`. Costs are measured by counting
/// samples.
class Machine {
public:
    explicit Machine(std::uint64_t seed, double f0_noise = 0, double machine_noise = 0.01, double correlation = 0)
        : random_(seed), f0_noise_(f0_noise), machine_noise_(machine_noise), correlation_(correlation) {
        shares_.push_back(0.2);
        double sum = 0;
        for (int i = 1; i < 40; ++i) sum += 1.0 / i;
        for (int i = 1; i < 40; ++i) shares_.push_back(0.8 / i / sum);
    }

    /// `factor`: on the cost of f0; `all`: on the cost of every function.
    Measurement measure(int runs, double factor, double all = 1) {
        Measurement measurement;
        measurement.path = "synthetic";
        MeasuredPoint point;
        point.scenario = "s", point.unit = "requests", point.counts_work = true;
        Costs& costs = point.costs["cpu"];
        const double sample_cost = cost_per_unit / samples_per_run;
        std::normal_distribution<double> machine(1, machine_noise_), work(1, f0_noise_ + 1e-9);
        for (int run = 0; run < runs; ++run) {
            state_ = correlation_ * state_ + std::sqrt(1 - correlation_ * correlation_) * (machine(random_) - 1);
            const double speed = all * (1 + state_);
            std::vector<double> truth;
            for (std::size_t i = 0; i < shares_.size(); ++i)
                truth.push_back(shares_[i] * cost_per_unit * speed * (i == 0 ? factor * work(random_) : 1));
            double cost = 0;
            for (const double one : truth) cost += one;
            // The cost gives the number of samples; in which functions they are is random.
            auto samples = static_cast<int>(cost / sample_cost);
            MeasuredRun measured;
            measured.units = 100'000;
            measured.seconds = cost * machine(random_) * 1e-4;
            measured.samples = static_cast<std::uint64_t>(samples);
            point.runs.push_back(measured);
            double left = cost;
            for (std::size_t i = 0; i < truth.size(); ++i) {
                std::binomial_distribution<int> part(samples, std::min(1.0, truth[i] / left));
                const int count = part(random_);
                costs["f" + std::to_string(i)].push_back(count * sample_cost);
                samples -= count;
                left -= truth[i];
            }
        }
        measurement.points.push_back(std::move(point));
        return measurement;
    }

private:
    std::mt19937_64 random_;
    double f0_noise_, machine_noise_, correlation_, state_ = 0;
    std::vector<double> shares_;
};

std::vector<Compared> compared(const Measurement& before, const Measurement& after, const std::string& per = {}) {
    std::vector<std::string> remarks;
    auto all = compare_benches(before, after, {per, {}, {"old", "new"}}, remarks);
    REQUIRE(all);
    return std::move(*all);
}

DiffAnswer judged(const Measurement& before, const Measurement& after, const std::string& per = {}) {
    std::vector<Compared> all = compared(before, after, per);
    return answer_of(all.front().diff);
}

struct Counted {
    int failed = 0, named = 0, first = 0, others = 0;
};

/// 200 comparisons of a program with itself, and 200 with f0 costing 5 % more.
Counted compare_200(Machine& machine, int runs, const std::string& per = {}) {
    Counted result;
    for (int trial = 0; trial < 200; ++trial) {
        const Measurement before = machine.measure(runs, 1);
        const DiffAnswer equal = judged(before, machine.measure(runs, 1), per);
        result.failed += count_grown(equal, 0.01) > 0 ? 1 : 0;
        result.named += equal.findings.empty() ? 0 : 1;
        const DiffAnswer more = judged(before, machine.measure(runs, 1.05), per);
        result.first += !more.findings.empty() && more.findings.front().name == "f0" ? 1 : 0;
        for (const Finding& finding : more.findings) result.others += finding.name == "f0" ? 0 : 1;
    }
    MESSAGE(runs << " runs a side: of 200 comparisons with itself a gate of 1 % fails " << result.failed << ", "
                 << result.named << " name a change; 5 % more of f0 is named first in " << result.first << ", beside "
                 << result.others << " other findings");
    return result;
}

}  // namespace

TEST_CASE("of 200 benches of a program and itself a gate of 1 % fails 1 at most") {
    Machine few(3);
    CHECK(compare_200(few, 3).failed <= 1);
    Machine many(5);
    const Counted result = compare_200(many, 10);
    CHECK(result.failed <= 1);
    CHECK(result.named <= 10);
    CHECK(result.first >= 190);
}

TEST_CASE("what all functions of a run have in common hides no change by shares") {
    Machine machine(7, 0, 0.05, 0.5);
    CHECK(compare_200(machine, 10).failed <= 8);  // runs resemble the one before, which their spread does not show
    const Counted shares = compare_200(machine, 10, "share");
    CHECK(shares.failed <= 1);
    CHECK(shares.first >= 190);
}

TEST_CASE("noise includes the differences between runs, not only the error of counting samples") {
    // The cost of f0 varies by a tenth from run to run; counting its 4,000 samples a run has an error of 1.6 % only.
    Machine machine(6, 0.1);
    CHECK(compare_200(machine, 5).named <= 10);
}

TEST_CASE("a higher cost of all functions is one change, and throughput fell") {
    Machine machine(8);
    const DiffAnswer slower = judged(machine.measure(10, 1), machine.measure(10, 1, 1.3));
    REQUIRE(slower.findings.size() == 1);
    CHECK(slower.sentence.starts_with("everything: +3"));
    CHECK(slower.least_fall > 0.2);
    CHECK(slower.doubts.front().starts_with("throughput: −2"));
    CHECK(count_grown(slower, 0.05) == 2);
    const DiffAnswer better = judged(machine.measure(10, 1), machine.measure(10, 0.5));
    CHECK(better.findings.front().name == "f0");
    CHECK(count_grown(better, 0.01) == 0);
}

TEST_CASE("a function that is new is told so") {
    Machine machine(12);
    Measurement before = machine.measure(5, 1);
    before.points[0].costs["cpu"].erase("f0");
    const DiffAnswer answer = judged(before, machine.measure(5, 1));
    REQUIRE_FALSE(answer.findings.empty());
    CHECK(answer.sentence.starts_with("f0: new, "));
    CHECK(count_grown(answer, 0.1) > 0);
}

TEST_CASE("two values of one bench are two sides") {
    Machine machine(20);
    Measurement bench;
    bench.path = "results";
    for (const char* version : {"old", "new"}) {
        MeasuredPoint point = machine.measure(6, version[0] == 'n' ? 1.2 : 1).points[0];
        point.sweep = {{"n", "1"}, {"version", version}};
        bench.points.push_back(point);
    }
    const auto sides = two_values(bench, "version");
    REQUIRE(sides);
    CHECK(sides->before.path == "version=old");
    CHECK(sides->after.points[0].title() == "s n=1");
    CHECK(judged(sides->before, sides->after).findings.front().name == "f0");
    CHECK(two_values(bench, "x").error().message == "results: has no variable 'x' that sweeps; there are: n, version");
    CHECK(two_values(bench, "n").error().message == "results: 'n' needs two values, old and new; it has: 1");
}

TEST_CASE("what cannot be compared is reported") {
    Machine machine(13);
    Measurement before = machine.measure(3, 1), after = machine.measure(3, 1);
    after.points.push_back(after.points[0]);
    after.points[1].scenario = "other";
    std::vector<std::string> remarks;
    CHECK(compare_benches(before, after, {}, remarks));
    CHECK(remarks == std::vector<std::string>{"other: only in synthetic"});
    after.points[0].runs.resize(1);
    for (auto& [name, costs] : after.points[0].costs["cpu"]) costs.resize(1);
    const auto one = compare_benches(before, after, {}, remarks);
    REQUIRE_FALSE(one);
    CHECK(one.error().message.find("3 and 1 good runs; noise is known from two on") != std::string::npos);
    after.points[0].unit = "bytes";
    CHECK_FALSE(compare_benches(before, after, {}, remarks));
}

TEST_CASE("several scenarios are written as text, Markdown, JSON and a page") {
    Machine machine(14);
    Measurement before = machine.measure(10, 1), after = machine.measure(10, 1.3);
    for (Measurement* const side : {&before, &after}) {
        side->points.push_back(side->points[0]);
        side->points[1].sweep = {{"io", "2"}};
    }
    after.points[1].costs = before.points[1].costs, after.points[1].runs = before.points[1].runs;
    std::vector<Compared> all = compared(before, after);
    REQUIRE(all.size() == 2);
    const ComparedText text = text_of(all, {.fail_above = 0.02, .remarks = {"left out"}});
    CHECK(text.grown == 2);  // f0, and throughput
    CHECK(text.text.starts_with("s\nf0: +30 % CPU time a request"));
    CHECK(text.text.find("\ns io=2: Nothing changed by more than") != std::string::npos);
    CHECK(text.text.ends_with("left out\n"));
    const std::string place = std::filesystem::temp_directory_path() / "flameprobe-compare-test";
    const auto written = [&](const std::string& ending) {
        const std::string path = place + ending;
        REQUIRE(write_form(path, all, text.text, {}));
        std::ifstream file(path);
        std::string whole{std::istreambuf_iterator<char>(file), {}};
        std::filesystem::remove(path);
        return whole;
    };
    CHECK(written(".md").starts_with("### s\n**f0: +30 % CPU time a request"));
    CHECK(written(".html").find("f0: +30 % CPU time a request") != std::string::npos);
    const auto json = nlohmann::json::parse(written(".json"));
    CHECK(json["comparisons"][0]["findings"][0]["name"] == "f0");
    CHECK(json["comparisons"][1]["scenario"] == "s io=2");
    CHECK(json["comparisons"][1]["findings"].empty());
}

namespace {

/// Runs of a program of which each unit allocates 1 MB here and `grown` MB there, by so many samples a run.
Measurement allocating(std::mt19937_64& random, double grown, double samples) {
    Measurement side;
    side.path = "bench";
    MeasuredPoint point;
    point.scenario = "s", point.unit = "requests", point.counts_work = true;
    point.allocation_samples = (1 + grown) * samples;
    for (unsigned run = 0; run < 5; ++run) {
        MeasuredRun measured;
        measured.units = measured.seconds = 10;
        point.runs.push_back(measured);
        for (const auto& [name, mean] : {std::pair("same", 1.0), std::pair("grown", grown)})
            point.costs["alloc"][name].push_back(std::poisson_distribution<int>(mean * samples)(random) / samples *
                                                 1e6);
    }
    side.points.push_back(point);
    return side;
}

}  // namespace

TEST_CASE("bytes per unit of work are compared, too") {
    std::mt19937_64 random(4);
    int named = 0, hits = 0;
    for (int trial = 0; trial < 200; ++trial) {
        named += judged(allocating(random, 1, 1000), allocating(random, 1, 1000)).findings.empty() ? 0 : 1;
        const DiffAnswer more = judged(allocating(random, 1, 1000), allocating(random, 1.5, 1000));
        hits += !more.findings.empty() && more.findings.front().name == "grown" ? 1 : 0;
    }
    CHECK(hits >= 195);
    CHECK(named <= 5);
    std::vector<Compared> all = compared(allocating(random, 1, 1000), allocating(random, 2, 1000));
    CHECK(all.front().title == "s, alloc");
    CHECK(answer_of(all.front().diff).sentence.starts_with("grown: +"));
    CHECK(answer_of(all.front().diff).sentence.find("allocated bytes a request") != std::string::npos);
}
