#include "changes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "report.hpp"

namespace flameprobe::compare {

namespace {

double mean(const std::vector<double>& values) {
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

template <class Map>
std::set<std::string> names_of(const Map& before, const Map& after) {
    std::set<std::string> names;
    for (const auto* side : {&before, &after}) {
        for (const auto& [name, value] : *side) names.insert(name);
    }
    return names;
}

/// What is left over is no function: it moves with the noise of all others.
bool is_remainder(const std::string& name) { return name == "[not sampled]"; }

class Judge {
public:
    explicit Judge(const JudgeOptions& options) : options_(options) { judgement_.rate = options.rate; }

    void points(const Measurement& before, const Measurement& after);
    void profiles(const MeasuredProfile& before, const MeasuredProfile& after);
    Judgement take();

private:
    void point(const MeasuredPoint& before, const MeasuredPoint& after);
    void functions(const MeasuredPoint& before, const MeasuredPoint& after);
    void remark(const std::string& text) { judgement_.remarks.push_back(text); }

    const JudgeOptions& options_;
    Judgement judgement_;
};

const MeasuredPoint* find(const Measurement& side, const std::string& title) {
    for (const MeasuredPoint& point : side.points) {
        if (point.title == title) return &point;
    }
    return nullptr;
}

void Judge::points(const Measurement& before, const Measurement& after) {
    for (const MeasuredPoint& old : before.points) {
        if (const MeasuredPoint* now = find(after, old.title))
            point(old, *now);
        else
            remark(old.title + ": only in " + before.path);
    }
    for (const MeasuredPoint& now : after.points) {
        if (find(before, now.title) == nullptr) remark(now.title + ": only in " + after.path);
    }
}

void Judge::point(const MeasuredPoint& before, const MeasuredPoint& after) {
    const std::string& title = before.title;
    if (before.unit != after.unit)
        return remark(title + ": counts " + before.unit + " before and " + after.unit + " after");
    if (before.cost.size() < 2 || after.cost.size() < 2)
        return remark(title + ": " + std::to_string(before.cost.size()) + " and " + std::to_string(after.cost.size()) +
                      " good runs; noise is known from two on");
    if (!before.throughput.empty() && !after.throughput.empty())
        judgement_.changes.push_back({title, Kind::throughput, "", before.unit,
                                      bench::compare_means({before.throughput, 0}, {after.throughput, 0})});
    judgement_.changes.push_back(
        {title, Kind::cost, "", before.unit, bench::compare_means({before.cost, 0}, {after.cost, 0})});
    functions(before, after);
}

void Judge::functions(const MeasuredPoint& before, const MeasuredPoint& after) {
    const double least_before = options_.least_share * mean(before.cost),
                 least_after = options_.least_share * mean(after.cost);
    for (const std::string& name : names_of(before.functions, after.functions)) {
        if (is_remainder(name)) continue;
        const auto values = [&name](const MeasuredPoint& point) {
            const auto found = point.functions.find(name);
            bench::Sample sample{std::vector<double>(point.cost.size()), 0};
            if (found != point.functions.end()) sample.values = found->second;
            sample.floor = bench::sampling_variance(mean(sample.values), mean(point.cost), point.sample_cost);
            return sample;
        };
        const auto old = values(before), now = values(after);
        if (mean(old.values) < least_before && mean(now.values) < least_after) continue;
        judgement_.changes.push_back({before.title, Kind::function, name, before.unit, bench::compare_means(old, now)});
    }
}

void Judge::profiles(const MeasuredProfile& before, const MeasuredProfile& after) {
    judgement_.of_profiles = true;
    for (const std::string& name : names_of(before.functions, after.functions)) {
        const auto samples = [&name](const MeasuredProfile& side) {
            const auto found = side.functions.find(name);
            return found == side.functions.end() ? 0 : found->second;
        };
        const double old = samples(before), now = samples(after);
        if (old < options_.least_share * before.samples && now < options_.least_share * after.samples) continue;
        judgement_.changes.push_back(
            {"", Kind::function, name, "", bench::compare_shares(old, before.samples, now, after.samples)});
    }
    remark(
        "Two profiles, without repetitions: shares of CPU time are compared, and only the noise of sampling is known, "
        "not that of the machine or the work. flameprobe bench knows both.");
}

Judgement Judge::take() {
    auto& changes = judgement_.changes;
    std::vector<double> p;
    for (const Change& change : changes) p.push_back(change.comparison.p);
    const std::vector<bool> found = bench::discoveries(p, options_.rate);
    for (std::size_t i = 0; i < changes.size(); ++i) changes[i].found = found[i];
    // By scenario as they came; throughput and total first, then what was found by its size in time.
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        if (a.found != b.found) return a.found;
        if ((a.kind == Kind::function) != (b.kind == Kind::function)) return b.kind == Kind::function;
        if (a.kind != Kind::function) return false;
        const auto size = [](const Change& c) { return std::abs(c.comparison.after - c.comparison.before); };
        return size(a) > size(b);
    });
    return std::move(judgement_);
}

}  // namespace

double Change::worse() const {
    if (comparison.before == 0) return comparison.after > 0 ? (kind == Kind::throughput ? -1 : 1) : 0;
    return kind == Kind::throughput ? -comparison.change() : comparison.change();
}

double Judgement::worst() const {
    double worst = 0;
    for (const Change& change : changes) {
        if (change.found) worst = std::max(worst, change.worse());
    }
    return worst;
}

Result<Judgement> judge(const Measurement& before, const Measurement& after, const JudgeOptions& options) {
    if (before.is_profile != after.is_profile)
        return Error{before.path + " and " + after.path + ": one is a profile and one a bench; compare like with like"};
    Judge judge(options);
    if (before.is_profile)
        judge.profiles(before.profile, after.profile);
    else
        judge.points(before, after);
    Judgement judgement = judge.take();
    if (judgement.changes.empty()) {
        std::string why;
        for (const std::string& remark : judgement.remarks) why += "; " + remark;
        return Error{before.path + " and " + after.path + ": nothing in them can be compared" + why};
    }
    return judgement;
}

}  // namespace flameprobe::compare
