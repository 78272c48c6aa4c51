#include "changes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "disturbed_runs.hpp"
#include "pace.hpp"
#include "render/text.hpp"
#include "report.hpp"

namespace flameprobe::compare {

namespace {

template <class Map>
std::set<std::string> names_of(const Map& before, const Map& after) {
    std::set<std::string> names;
    for (const auto* side : {&before, &after}) {
        for (const auto& [name, value] : *side) names.insert(name);
    }
    return names;
}

class Judge {
public:
    explicit Judge(const JudgeOptions& options) : options_(options) { judgement_.rate = options.rate; }

    void points(const Measurement& before, const Measurement& after);
    Judgement take();

private:
    void point(const MeasuredPoint& before, const MeasuredPoint& after);
    void functions(const MeasuredPoint& before, const MeasuredPoint& after);
    void allocations(const MeasuredPoint& before, const MeasuredPoint& after);
    void remark_pace(const std::string& title, const Pace& pace);
    void remark(const std::string& text) { judgement_.remarks.push_back(text); }

    const JudgeOptions& options_;
    Judgement judgement_;
};

const MeasuredPoint* find(const Measurement& side, const std::string& title) {
    for (const MeasuredPoint& point : side.points) {
        if (point.title() == title) return &point;
    }
    return nullptr;
}

/// Compares figures of the two points' runs, `old` and `now`: by pairs of runs with the same number, or as series if
/// there are fewer than two pairs.
bench::Comparison compare_turns(const MeasuredPoint& before, const std::vector<double>& old, const MeasuredPoint& after,
                                const std::vector<double>& now) {
    std::vector<double> old_ones, new_ones;
    for (std::size_t i = 0; i < std::min(before.repetitions.size(), old.size()); ++i) {
        const auto same = std::find(after.repetitions.begin(), after.repetitions.end(), before.repetitions[i]);
        const auto at = static_cast<std::size_t>(same - after.repetitions.begin());
        if (at >= now.size()) continue;
        old_ones.push_back(old[i]);
        new_ones.push_back(now[at]);
    }
    return old_ones.size() < 2 ? bench::compare_series({old, 0}, {now, 0}) : bench::compare_pairs(old_ones, new_ones);
}

void Judge::points(const Measurement& before, const Measurement& after) {
    for (const MeasuredPoint& old : before.points) {
        if (const MeasuredPoint* now = find(after, old.title())) {
            const Undisturbed one = without_disturbed_runs(old), other = without_disturbed_runs(*now);
            for (const auto& [path, text] : {std::pair(before.path, one.remark), std::pair(after.path, other.remark)}) {
                if (!text.empty()) remark(path + ": " + text);
            }
            point(one.point, other.point);
        } else
            remark(old.title() + ": only in " + before.path);
    }
    for (const MeasuredPoint& now : after.points) {
        if (find(before, now.title()) == nullptr) remark(now.title() + ": only in " + after.path);
    }
}

void Judge::point(const MeasuredPoint& before, const MeasuredPoint& after) {
    const std::string title = before.title();
    if (before.unit != after.unit)
        return remark(title + ": counts " + before.unit + " before and " + after.unit + " after");
    if (before.cost.size() < 2 || after.cost.size() < 2)
        return remark(title + ": " + std::to_string(before.cost.size()) + " and " + std::to_string(after.cost.size()) +
                      " good runs; noise is known from two on");
    const auto compare = [&](const std::vector<double>& old, const std::vector<double>& now) {
        return options_.taking_turns ? compare_turns(before, old, after, now)
                                     : bench::compare_series({old, 0}, {now, 0});
    };
    if (!before.throughput.empty() && !after.throughput.empty())
        judgement_.changes.push_back(
            {title, Kind::throughput, "", before.unit, compare(before.throughput, after.throughput)});
    judgement_.changes.push_back({title, Kind::cost, "", before.unit, compare(before.cost, after.cost)});
    functions(before, after);
    allocations(before, after);
}

// The floor of a value's variance is that of its samples.
void Judge::allocations(const MeasuredPoint& before, const MeasuredPoint& after) {
    const MeasuredAllocations &old = before.allocations, &now = after.allocations;
    const std::string title = before.title();
    if (old.bytes.size() < 2 || now.bytes.size() < 2) {
        if (old.bytes.size() != now.bytes.size())
            remark(title + ": what it allocates is known of one side only, by bench -e alloc of this version");
        return;
    }
    const auto sample = [](const std::vector<double>& values, double samples) {
        const double mean = bench::mean_of(values);
        return bench::Sample{values, mean * mean / std::max(samples, 1.0)};
    };
    const auto compare = [&](Kind kind, const std::string& name, const bench::Sample& was, const bench::Sample& is) {
        judgement_.changes.push_back({title, kind, name, before.unit, bench::compare_series(was, is)});
    };
    compare(Kind::bytes, "", sample(old.bytes, old.samples), sample(now.bytes, now.samples));
    compare(Kind::allocations, "", sample(old.number, old.samples), sample(now.number, now.samples));
    const double least_before = options_.least_share * bench::mean_of(old.bytes),
                 least_after = options_.least_share * bench::mean_of(now.bytes);
    for (const std::string& name : names_of(old.functions, now.functions)) {
        const auto values = [&](const MeasuredAllocations& side) {
            const auto found = side.functions.find(name);
            if (found == side.functions.end()) return bench::Sample{std::vector<double>(side.bytes.size()), 0};
            return sample(found->second.bytes, found->second.samples);
        };
        const auto was = values(old), is = values(now);
        if (bench::mean_of(was.values) >= least_before || bench::mean_of(is.values) >= least_after)
            compare(Kind::function_bytes, name, was, is);
    }
}

void Judge::functions(const MeasuredPoint& before, const MeasuredPoint& after) {
    const double least_before = options_.least_share * bench::mean_of(before.cost),
                 least_after = options_.least_share * bench::mean_of(after.cost);
    const std::string title = before.title();
    const Pace pace(before, after, options_.least_share);
    for (const std::string& name : names_of(before.functions, after.functions)) {
        const auto values = [&name](const MeasuredPoint& point) {
            const auto found = point.functions.find(name);
            bench::Sample sample{std::vector<double>(point.cost.size()), 0};
            if (found != point.functions.end()) sample.values = found->second;
            sample.floor =
                bench::sampling_variance(bench::mean_of(sample.values), bench::mean_of(point.cost), point.sample_cost);
            return sample;
        };
        const auto old = values(before), now = values(after);
        if (bench::mean_of(old.values) < least_before && bench::mean_of(now.values) < least_after) continue;
        const auto others = pace.without(name);
        judgement_.changes.push_back(
            {title, Kind::function, name, before.unit,
             others ? bench::compare_adjusted(old, now, *others) : bench::compare_series(old, now)});
    }
    remark_pace(title, pace);
}

void Judge::remark_pace(const std::string& title, const Pace& pace) {
    const auto change = pace.change();
    if (!change) return;
    const std::string cost = "most functions cost " + short_decimal(100 * std::abs(change->change()), 1) + " % " +
                             (change->change() < 0 ? "less" : "more") + " after";
    if (Pace::exceeds_chance(*change))
        remark(title + ": " + cost +
               ", which is more than runs differ by: the machine is another or busier, or the change affects all "
               "functions, as compiler options do. It is part of each function's change.");
    else if (std::abs(change->change()) >= 0.002)
        remark(title + ": " + cost +
               ", which benches of the same program differ by, too. It is subtracted from each function's change.");
}

Judgement Judge::take() {
    auto& changes = judgement_.changes;
    // No time, amount or share is less than nothing: it cannot fall by more than all of what it was.
    for (Change& change : changes) {
        bench::Comparison& c = change.comparison;
        if (c.low) c.low = std::max(*c.low, std::min(-c.before, c.difference));
    }
    std::vector<double> p;
    for (const Change& change : changes) p.push_back(change.comparison.p);
    const std::vector<bool> found = bench::discoveries(p, options_.rate);
    for (std::size_t i = 0; i < changes.size(); ++i) changes[i].found = found[i];
    // In the order of scenarios; throughput and total first, then changes beyond noise by their size in time.
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        if (a.found != b.found) return a.found;
        const Kind one = std::max(a.kind, Kind::function), other = std::max(b.kind, Kind::function);
        const bool first = a.kind < Kind::function, second = b.kind < Kind::function;
        if (first != second) return first;
        if (first) return false;
        if (one != other) return one < other;
        const auto size = [](const Change& c) { return std::abs(c.comparison.difference); };
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
    Judge judge(options);
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
