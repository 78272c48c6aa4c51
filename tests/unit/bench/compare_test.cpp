// `flameprobe compare` on synthetic measurements, drawn at random from known costs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "changes.hpp"
#include "forms.hpp"
#include "measurement.hpp"
#include "pace.hpp"

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

    /// Functions with this number and above do not vary with the machine.
    std::size_t in_step = 40;

    /// `factor`: on the cost of f0; `all`: on the cost of every function.
    Measurement measure(int runs, double factor, double all = 1) {
        Measurement measurement;
        measurement.path = "synthetic";
        MeasuredPoint point{"s", "requests", {}, {}, cost_per_unit / samples_per_run, {}, {}, {}};
        std::normal_distribution<double> machine(1, machine_noise_), work(1, f0_noise_ + 1e-9);
        for (int run = 0; run < runs; ++run) {
            state_ = correlation_ * state_ + std::sqrt(1 - correlation_ * correlation_) * (machine(random_) - 1);
            const double speed = all * (1 + state_);
            std::vector<double> truth;
            for (std::size_t i = 0; i < shares_.size(); ++i)
                truth.push_back(shares_[i] * cost_per_unit * (i < in_step ? speed : 1) *
                                (i == 0 ? factor * work(random_) : 1));
            double cost = 0;
            for (const double one : truth) cost += one;
            // The cost gives the number of samples; in which functions they are is random.
            auto samples = static_cast<int>(cost / point.sample_cost);
            double left = cost;
            for (std::size_t i = 0; i < truth.size(); ++i) {
                std::binomial_distribution<int> part(samples, std::min(1.0, truth[i] / left));
                const int count = part(random_);
                point.functions["f" + std::to_string(i)].push_back(count * point.sample_cost);
                samples -= count;
                left -= truth[i];
            }
            point.cost.push_back(cost);
            point.throughput.push_back(1e9 / cost * machine(random_));
        }
        measurement.points.push_back(std::move(point));
        return measurement;
    }

private:
    std::mt19937_64 random_;
    double f0_noise_, machine_noise_, correlation_, state_ = 0;
    std::vector<double> shares_;
};

Judgement judged(const Measurement& before, const Measurement& after) {
    auto judgement = judge(before, after, {});
    REQUIRE(judgement);
    return *judgement;
}

bool found(const Judgement& judgement, const std::string& name) {
    for (const Change& change : judgement.changes) {
        if (change.found && change.kind == Kind::function && change.name == name) return true;
    }
    return false;
}

std::size_t findings(const Judgement& judgement) {
    std::size_t count = 0;
    for (const Change& change : judgement.changes) count += change.found ? 1 : 0;
    return count;
}

struct Found {
    int failed = 0, hits = 0, false_findings = 0;
};

/// 200 comparisons of a program with itself, and 200 with f0 costing 5 % more; ten runs a side. `all` draws the factor
/// on the cost of every function, once for each bench.
Found compare_200(
    Machine& machine, const std::function<double()>& all = [] { return 1.0; }) {
    Found result;
    for (int trial = 0; trial < 200; ++trial) {
        const Measurement before = machine.measure(10, 1, all());
        result.failed += judged(before, machine.measure(10, 1, all())).worst() > 0.03 ? 1 : 0;
        const Judgement judgement = judged(before, machine.measure(10, 1.05, all()));
        result.hits += found(judgement, "f0") ? 1 : 0;
        for (const Change& change : judgement.changes)
            result.false_findings += change.found && change.kind == Kind::function && change.name != "f0" ? 1 : 0;
    }
    MESSAGE(result.failed << " of 200 A/A comparisons above 3 %, found in " << result.hits << " of 200, with "
                          << result.false_findings << " false findings");
    return result;
}

}  // namespace

TEST_CASE("of 200 comparisons of a program with itself at most 5 % report a change") {
    for (const int runs : {3, 10}) {
        CAPTURE(runs);
        Machine machine(static_cast<std::uint64_t>(runs));
        int failed = 0, with_findings = 0;
        for (int trial = 0; trial < 200; ++trial) {
            const Judgement judgement = judged(machine.measure(runs, 1), machine.measure(runs, 1));
            failed += judgement.worst() > 0.03 ? 1 : 0;
            with_findings += findings(judgement) > 0 ? 1 : 0;
        }
        MESSAGE(runs << " runs a side: " << failed << " of 200 A/A comparisons above 3 %, " << with_findings
                     << " with findings");
        CHECK(failed <= 10);
        CHECK(with_findings <= 10);
    }
}

TEST_CASE("5 % more cost of a function of 20 % is found in 95 of 100 comparisons of ten runs") {
    Machine machine(5);
    constexpr int trials = 400;
    int hits = 0, false_findings = 0, all_findings = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const Judgement judgement = judged(machine.measure(10, 1), machine.measure(10, 1.05));
        hits += found(judgement, "f0") ? 1 : 0;
        for (const Change& change : judgement.changes) {
            // Throughput and total cost do change with f0.
            if (!change.found || change.kind != Kind::function) continue;
            ++all_findings;
            false_findings += change.name == "f0" ? 0 : 1;
        }
    }
    MESSAGE("found in " << hits << " of " << trials << "; " << false_findings << " of " << all_findings
                        << " findings are false");
    CHECK(hits >= 0.95 * trials);
    CHECK(false_findings * 20 <= all_findings * 2);  // 5 % is the expectation; chance may double it
}

TEST_CASE("variation from run to run that all functions share hides no change of one function") {
    // A busy machine: runs differ by 5 %, in all functions alike. What remains is the noise of counting samples: of the
    // function itself, and of the others, from which the pace is estimated.
    Machine machine(7, 0, 0.05);
    const Found result = compare_200(machine);
    CHECK(result.failed <= 10);
    CHECK(result.hits >= 180);
    CHECK(result.false_findings <= 20);
}

TEST_CASE("a slowly changing load of the machine is not taken for a change of the program") {
    Machine machine(10, 0, 0.05, 0.5);
    const Found result = compare_200(machine);
    CHECK(result.failed <= 10);
    CHECK(result.hits >= 180);
    CHECK(result.false_findings <= 40);
}

TEST_CASE("a function's change is found although benches differ by more than their runs") {
    // As measured once: 1.3 % from run to run, and 0.9 % between the means of benches.
    Machine machine(11, 0, 0.013);
    std::mt19937_64 random(12);
    std::normal_distribution<double> bench(1, 0.009);
    const Found result = compare_200(machine, [&] { return bench(random); });
    CHECK(result.failed <= 10);
    CHECK(result.hits >= 190);
    CHECK(result.false_findings <= 20);
}

TEST_CASE("functions that do not vary with the machine are not reported") {
    // Benches differ by 2 %, as measured too, but in half of the functions only. So the total cost does differ, and
    // result.failed is not checked.
    Machine machine(11, 0, 0.013);
    machine.in_step = 20;
    std::mt19937_64 random(12);
    std::normal_distribution<double> bench(1, 0.02);
    const Found result = compare_200(machine, [&] { return bench(random); });
    CHECK(result.hits >= 180);
    CHECK(result.false_findings <= 40);
}

TEST_CASE("a disturbed run is left out, and a remark says so") {
    Machine machine(13, 0, 0.02);
    const Measurement before = machine.measure(10, 1);
    Measurement after = machine.measure(10, 1.05);
    MeasuredPoint& point = after.points[0];
    for (unsigned run = 1; run <= 10; ++run) point.repetitions.push_back(run);
    // As measured once: the run cost more than half as much again, and its functions not in proportion.
    point.cost[8] *= 1.55;
    point.throughput[8] /= 1.55;
    for (auto& [name, costs] : point.functions) costs[8] *= name == "f0" ? 1.25 : 1.6;
    const Judgement judgement = judged(before, after);
    CHECK(found(judgement, "f0"));
    REQUIRE_FALSE(judgement.remarks.empty());
    CHECK(judgement.remarks[0].find("s: left out: run 9 (5") != std::string::npos);
    // Three runs of ten are not left out.
    point.cost[1] = point.cost[2] = point.cost[8];
    for (const std::string& remark : judged(before, after).remarks) CHECK(remark.find("left out") == std::string::npos);
}

TEST_CASE("a higher cost of all functions is a change, not noise of the runs") {
    Machine machine(8);
    const Judgement slower = judged(machine.measure(10, 1), machine.measure(10, 1, 1.3));
    CHECK(found(slower, "f0"));
    CHECK(found(slower, "f1"));
    CHECK(slower.worst() > 0.25);
    REQUIRE(slower.remarks.size() == 1);
    CHECK(slower.remarks[0].find("% more after, which is more than runs differ by") != std::string::npos);
}

TEST_CASE("one function that outweighs the others does not set their pace") {
    Machine machine(9, 0, 0.05);
    Measurement before = machine.measure(10, 1), after = machine.measure(10, 20);
    CHECK(Pace(before.points[0], before.points[0], 0.005).without("f1"));
    // With three functions the pace is not known.
    for (Measurement* side : {&before, &after}) {
        auto& functions = side->points[0].functions;
        functions = {{"f0", functions["f0"]}, {"f1", functions["f1"]}, {"f2", functions["f2"]}};
    }
    CHECK_FALSE(Pace(before.points[0], after.points[0], 0.005).change());
    const Judgement judgement = judged(before, after);
    CHECK(found(judgement, "f0"));
    CHECK_FALSE(found(judgement, "f1"));
}

TEST_CASE("noise includes the differences between runs, not only the error of counting samples") {
    // The cost of f0 varies by a tenth from run to run; counting its 4,000 samples a run has an error of 1.6 % only.
    Machine machine(6, 0.1);
    int by_runs = 0;
    for (int trial = 0; trial < 200; ++trial) {
        const Measurement before = machine.measure(5, 1), after = machine.measure(5, 1);
        by_runs += findings(judged(before, after)) > 0 ? 1 : 0;
    }
    CHECK(by_runs <= 10);
}

TEST_CASE("an improvement is found, and is no failure") {
    Machine machine(11);
    const Judgement judgement = judged(machine.measure(10, 1), machine.measure(10, 0.5));
    CHECK(found(judgement, "f0"));
    CHECK(judgement.worst() == 0);
}

TEST_CASE("a function that is new counts as at least 100 % worse") {
    Machine machine(12);
    Measurement before = machine.measure(5, 1);
    const Measurement after = machine.measure(5, 1);
    before.points[0].functions.erase("f0");
    const Judgement judgement = judged(before, after);
    CHECK(found(judgement, "f0"));
    CHECK(judgement.worst() >= 1);
}

TEST_CASE("two values of one bench are compared by pairs of runs") {
    // Each run is much slower than the one before; in each, the new version costs 2 % more than the old one.
    Measurement bench;
    bench.path = "results";
    for (const char* version : {"old", "new"}) {
        MeasuredPoint& point = bench.points.emplace_back();
        point.scenario = "s";
        point.unit = "requests";
        point.sweep = {{"n", "1"}, {"version", version}};
        for (unsigned run = 1; run <= 6; ++run) {
            point.repetitions.push_back(run);
            point.cost.push_back((900 + 200 * run + run % 2) * (version[0] == 'n' ? 1.02 : 1));
        }
    }
    bench.points[1].repetitions.erase(bench.points[1].repetitions.begin() + 2);  // it failed
    bench.points[1].cost.erase(bench.points[1].cost.begin() + 2);
    const auto sides = two_values(bench, "version");
    REQUIRE(sides);
    CHECK(sides->before.path == "version=old");
    CHECK(sides->after.points[0].title() == "s n=1");
    JudgeOptions options;
    CHECK_FALSE(judge(sides->before, sides->after, options)->changes[0].found);
    options.taking_turns = true;
    const auto judgement = judge(sides->before, sides->after, options);
    REQUIRE(judgement->changes.size() == 1);
    CHECK(judgement->changes[0].found);
    CHECK(judgement->worst() == doctest::Approx(0.02));
    CHECK(two_values(bench, "x").error().message == "results: has no variable 'x' that sweeps; there are: n, version");
    CHECK(two_values(bench, "n").error().message == "results: 'n' needs two values, old and new; it has: 1");
}

TEST_CASE("what cannot be compared is reported") {
    Machine machine(13);
    Measurement before = machine.measure(3, 1), after = machine.measure(3, 1);
    after.points.push_back(after.points[0]);
    after.points[1].scenario = "other";
    CHECK(judged(before, after).remarks == std::vector<std::string>{"other: only in synthetic"});
    after.points[0].unit = "bytes";
    CHECK_FALSE(judge(before, after, {}));
}

TEST_CASE("a judgement is written as text, Markdown and JSON") {
    Machine machine(14);
    const Judgement judgement = judged(machine.measure(10, 1), machine.measure(10, 1.3));
    const auto document = document_of(judgement, "old", "new");
    CHECK(bench::to_text(document).find("f0") != std::string::npos);
    CHECK(bench::to_markdown(document).starts_with("## FlameProbe: old → new\n"));
    const auto json = nlohmann::json::parse(judgement_json(judgement, "old", "new"));
    CHECK(json["worst"] > 0.2);
    CHECK(json["changes"][0]["beyond_noise"] == true);
}

namespace {

/// Runs of a program of which each unit allocates 1 MB here and `grown` MB there, by so many samples a run.
Measurement allocating(std::mt19937_64& random, double grown, double samples) {
    Measurement side;
    side.path = "bench";
    MeasuredPoint point{"s", "requests", {}, {}, 1, {}, {}, {}};
    for (unsigned run = 0; run < 5; ++run) {
        point.cost.push_back(1000);
        point.repetitions.push_back(run);
        double all = 0;
        for (const auto& [name, mean] : {std::pair("same", 1.0), std::pair("grown", grown)}) {
            const double got = std::poisson_distribution<int>(mean * samples)(random) / samples * 1e6;
            point.allocations.functions[name].bytes.push_back(got);
            point.allocations.functions[name].samples = mean * samples;
            all += got;
        }
        point.allocations.bytes.push_back(all);
        point.allocations.number.push_back(all / 1000);
    }
    point.allocations.samples = (1 + grown) * samples;
    side.points.push_back(point);
    return side;
}

const Change* change_of(const Judgement& judgement, const std::string& name) {
    const auto found = std::find_if(judgement.changes.begin(), judgement.changes.end(),
                                    [&](const Change& change) { return change.name == name; });
    return found == judgement.changes.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("bytes and allocations per unit of work are compared, in all and by function") {
    std::mt19937_64 random(4);
    int false_findings = 0, hits = 0;
    for (int trial = 0; trial < 200; ++trial) {
        false_findings += findings(judged(allocating(random, 1, 1000), allocating(random, 1, 1000))) > 0 ? 1 : 0;
        const Judgement more = judged(allocating(random, 1, 1000), allocating(random, 1.5, 1000));
        const Change* const grown = change_of(more, "grown");
        REQUIRE(grown != nullptr);
        CHECK(grown->kind == Kind::function_bytes);
        hits += grown->found ? 1 : 0;
        false_findings += change_of(more, "same")->found ? 1 : 0;
    }
    CHECK(hits >= 195);
    CHECK(false_findings <= 25);
    const Judgement more = judged(allocating(random, 1, 1000), allocating(random, 2, 1000));
    CHECK(more.worst() > 0.8);
    const auto text = bench::to_text(document_of(more, "a", "b"), 200);
    CHECK(text.find("bytes per unit of work") != std::string::npos);
    CHECK(text.find("grown (bytes)") != std::string::npos);
}
