// The truth of `flameprobe compare`: measurements made by chance from known costs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "changes.hpp"
#include "forms.hpp"

using namespace flameprobe;
using namespace flameprobe::compare;

namespace {

constexpr double samples_per_run = 20'000;  // 20 s of CPU time at 999 Hz
constexpr double cost_per_unit = 10'000;    // ns

/// Forty functions: one has 20 %, the others less and less. `factor` is the first one's cost; the machine varies by 1 %
/// from run to run, and each function is known by counting samples.
class Machine {
public:
    explicit Machine(std::uint64_t seed) : random_(seed) {
        shares_.push_back(0.2);
        double sum = 0;
        for (int i = 1; i < 40; ++i) sum += 1.0 / i;
        for (int i = 1; i < 40; ++i) shares_.push_back(0.8 / i / sum);
    }

    Measurement measure(int runs, double factor) {
        Measurement measurement;
        measurement.path = "synthetic";
        MeasuredPoint point{"s", "requests", {}, {}, cost_per_unit / samples_per_run, {}};
        std::normal_distribution<double> weather(1, 0.01);
        for (int run = 0; run < runs; ++run) {
            const double speed = weather(random_);
            double cost = 0;
            for (std::size_t i = 0; i < shares_.size(); ++i) {
                const double truth = shares_[i] * cost_per_unit * speed * (i == 0 ? factor : 1);
                std::poisson_distribution<int> count(truth / point.sample_cost);
                point.functions["f" + std::to_string(i)].push_back(count(random_) * point.sample_cost);
                cost += truth;
            }
            point.cost.push_back(cost);
            point.throughput.push_back(1e9 / cost * weather(random_));
        }
        measurement.points.push_back(std::move(point));
        return measurement;
    }

private:
    std::mt19937_64 random_;
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

}  // namespace

TEST_CASE("of 200 comparisons of a program with itself at most 5 % fail") {
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

TEST_CASE("5 % more in a function of 20 % is found in 95 of 100 with ten repetitions") {
    Machine machine(5);
    int hits = 0, false_findings = 0, all_findings = 0;
    for (int trial = 0; trial < 200; ++trial) {
        const Judgement judgement = judged(machine.measure(10, 1), machine.measure(10, 1.05));
        hits += found(judgement, "f0") ? 1 : 0;
        for (const Change& change : judgement.changes) {
            // Throughput and total cost do change with f0.
            if (!change.found || change.kind != Kind::function) continue;
            ++all_findings;
            false_findings += change.name == "f0" ? 0 : 1;
        }
    }
    MESSAGE("found in " << hits << " of 200; " << false_findings << " of " << all_findings << " findings are false");
    CHECK(hits >= 190);
    CHECK(false_findings * 20 <= all_findings * 2);  // 5 % is the expectation; chance may double it
}

TEST_CASE("what becomes better is no failure") {
    Machine machine(11);
    const Judgement judgement = judged(machine.measure(10, 1), machine.measure(10, 0.5));
    CHECK(found(judgement, "f0"));
    CHECK(judgement.worst() == 0);
}

TEST_CASE("a function that was not there before is worse without bounds") {
    Machine machine(12);
    Measurement before = machine.measure(5, 1);
    const Measurement after = machine.measure(5, 1);
    before.points[0].functions.erase("f0");
    const Judgement judgement = judged(before, after);
    CHECK(found(judgement, "f0"));
    CHECK(judgement.worst() >= 1);
}

TEST_CASE("what cannot be compared is said") {
    Machine machine(13);
    Measurement before = machine.measure(3, 1), after = machine.measure(3, 1);
    after.points.push_back(after.points[0]);
    after.points[1].title = "other";
    CHECK(judged(before, after).remarks == std::vector<std::string>{"other: only in synthetic"});
    after.points[0].unit = "bytes";
    CHECK_FALSE(judge(before, after, {}));
    Measurement profile;
    profile.is_profile = true;
    CHECK_FALSE(judge(before, profile, {}));
}

TEST_CASE("two profiles are compared by shares of samples") {
    Measurement before, after;
    before.is_profile = after.is_profile = true;
    before.profile = {{{"a", 5000}, {"b", 4990}, {"rare", 10}}, 10000};
    after.profile = {{{"a", 5600}, {"b", 4395}, {"rare", 5}}, 10000};
    const Judgement judgement = judged(before, after);
    CHECK(found(judgement, "a"));
    CHECK(judgement.worst() == doctest::Approx(0.12));
    CHECK(judgement.changes.size() == 2);  // rare is below the least share
    CHECK(judgement.remarks.size() == 1);
}

TEST_CASE("text, Markdown and JSON") {
    Machine machine(14);
    const Judgement judgement = judged(machine.measure(10, 1), machine.measure(10, 1.3));
    const auto document = document_of(judgement, "old", "new");
    CHECK(bench::to_text(document).find("f0") != std::string::npos);
    CHECK(bench::to_markdown(document).starts_with("## FlameProbe: old → new\n"));
    const auto json = nlohmann::json::parse(judgement_json(judgement, "old", "new"));
    CHECK(json["worst"] > 0.2);
    CHECK(json["changes"][0]["beyond_noise"] == true);
}
