#include "diff_answer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "diff_pictures.hpp"
#include "render/describe.hpp"
#include "render/role.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr double least_tested = 0.005;  // of the whole, on the larger side
constexpr double least_told = 0.001;

class Search {
public:
    explicit Search(ProfileDiff& diff) : diff_(diff), removed_(diff.profile.counts.size()) {
        std::swap(diff.profile.functions, diff.descriptions);
        roles_ = function_roles(diff.profile);
        std::swap(diff.profile.functions, diff.descriptions);
    }

    DiffAnswer run() {
        constexpr std::size_t most = 20;
        while (answer_.findings.size() < most && add_finding()) {
        }
        return std::move(answer_);
    }

private:
    struct Candidate {
        FunctionId function = 0;
        bool everything = false;
        double score = 0;
        Change change;
    };

    /// Among what is left: shares of it, or amounts as they are.
    Change change_of(const FunctionSums& sum, const FunctionSums& all, double widening) const {
        const std::uint64_t larger = std::max(diff_.weight_before, diff_.weight_after);
        const bool amounts = diff_.by_amount;
        return Change(
            {sum.total_before, amounts ? larger : all.total_before, sum.total_variance_before,
             all.total_variance_before},
            {sum.total_after, amounts ? larger : all.total_after, sum.total_variance_after, all.total_variance_after},
            amounts, widening);
    }

    bool is_candidate(FunctionId function) const { return diff_.descriptions[function].kind != FrameKind::thread; }

    std::vector<Candidate> candidates(const DiffSums& sums) {
        std::vector<Candidate> list;
        const auto add = [&](FunctionId function, bool everything, const FunctionSums& sum, double widening) {
            const Change change = change_of(sum, sums.all(), widening);
            const double before = change.before().value(), after = change.after().value();
            if (std::max(before, after) < least_tested) return;
            const double difference = change.difference();
            list.push_back({function, everything, difference * difference / (before + after), change});
        };
        if (diff_.by_amount) add(0, true, sums.all(), diff_.widening);
        for (FunctionId function = 0; function < sums.sums().size(); ++function) {
            const FunctionSums& sum = sums.sums()[function];
            if (sum.total_before + sum.total_after > 0 && is_candidate(function))
                add(function, false, sum, sums.widening(function, true));
        }
        return list;
    }

    /// The candidate that explains most; of several that explain nearly as much the one in own code.
    const Candidate* best_of(const std::vector<Candidate>& list) const {
        constexpr double nearly = 0.85;
        const Candidate* best = nullptr;
        for (const Candidate& one : list) {
            if (one.change.is_noise() || std::abs(one.change.difference()) < least_told) continue;
            if (best == nullptr || one.score > best->score) best = &one;
        }
        if (best == nullptr || best->everything) return best;
        // What nearly all stacks have is no place in the program.
        constexpr double nearly_all = 0.95;
        const auto all = [](const Change& change) { return change.before().value() + change.after().value(); };
        if (list.front().everything && !list.front().change.is_noise() &&
            all(best->change) > nearly_all * all(list.front().change))
            return &list.front();
        // Of own code the outermost, which is what its author calls the change.
        const Candidate* own = nullptr;
        const double least = (roles_[best->function] == Role::own ? 0.97 : nearly) * best->score;
        for (const Candidate& one : list) {
            if (one.everything || roles_[one.function] != Role::own || one.change.is_noise()) continue;
            if (one.score >= least && (own == nullptr || all(one.change) > all(own->change))) own = &one;
        }
        return own == nullptr ? best : own;
    }

    bool add_finding() {
        const DiffSums sums(diff_, removed_);
        const std::vector<Candidate> list = candidates(sums);
        if (answer_.findings.empty()) answer_.tested = list.size();
        const Candidate* const best = best_of(list);
        if (best == nullptr) {
            for (const Candidate& one : list) {
                if (one.everything) continue;
                answer_.rest = std::max(answer_.rest, std::abs(one.change.difference()) + one.change.half());
                answer_.seen = std::max(answer_.seen, one.change.noise());
            }
            if (!diff_.by_amount) {  // with few clusters the intervals reach beyond the whole
                answer_.rest = std::min(answer_.rest, 1.0);
                answer_.seen = std::min(answer_.seen, 1.0);
            }
            return false;
        }
        const FunctionSums& sum = best->everything ? sums.all() : sums.sums()[best->function];
        answer_.findings.push_back({.function = best->function,
                                    .everything = best->everything,
                                    .change = best->change,
                                    .of_all = diff_.change(sum.total_before, sum.total_after, sum.total_variance_before,
                                                           sum.total_variance_after, diff_.widening),
                                    .path = {},
                                    .callers = {},
                                    .name = {},
                                    .before = {},
                                    .after = {},
                                    .amount = {},
                                    .where = {}});
        remove(answer_.findings.back());
        return true;
    }

    void remove(Finding& finding) {
        const NamedProfile& profile = diff_.profile;
        double most = -1;
        for (std::uint32_t i = 0; i < profile.counts.size(); ++i) {
            if (removed_[i]) continue;
            NodeId at = finding.everything ? profile.counts[i].node : 0;
            for (NodeId node = profile.counts[i].node; node != 0; node = profile.nodes[node].parent)
                if (profile.nodes[node].frame < profile.frames.size() &&
                    profile.function_of(node) == finding.function && !finding.everything)
                    at = node;
            if (at == 0 && !finding.everything) continue;
            removed_[i] = true;
            const double moved = std::abs(static_cast<double>(diff_.after[i]) /
                                              static_cast<double>(std::max<std::uint64_t>(1, diff_.weight_after)) -
                                          static_cast<double>(diff_.before[i]) /
                                              static_cast<double>(std::max<std::uint64_t>(1, diff_.weight_before)));
            if (moved <= most || finding.everything) continue;
            most = moved;
            finding.path.clear();
            finding.callers.clear();
            for (NodeId node = profile.nodes[at].parent; node != 0; node = profile.nodes[node].parent) {
                if (profile.nodes[node].frame >= profile.frames.size()) continue;
                const FunctionId function = profile.function_of(node);
                finding.callers.push_back(function);
                if (roles_[function] == Role::own && is_candidate(function)) finding.path.push_back(function);
            }
            std::ranges::reverse(finding.path);
            std::ranges::reverse(finding.callers);
        }
    }

    const ProfileDiff& diff_;
    std::vector<bool> removed_;
    std::vector<Role> roles_;
    DiffAnswer answer_;
};

std::string sign_text(double part) {
    const double percent = 100 * part;
    return (percent < 0 ? "−" : "+") + short_decimal(std::abs(percent), std::abs(percent) < 9.95 ? 1 : 0);
}

std::string factor_text(double part) { return short_decimal(1 + part, part < 8.95 ? 1 : 0); }

/// In percent, or as factors where one of them would be hard to read as percent.
std::string interval_text(double middle, double low, double high) {
    constexpr double large = 9;
    if (high > large) return "× " + factor_text(middle) + " (" + factor_text(low) + " to " + factor_text(high) + ")";
    return sign_text(middle) + " % (" + sign_text(low) + " to " + sign_text(high) + ")";
}

constexpr const char* points = " percentage points";

/// Of an amount what it was; of a share how it changed against all the rest, which a share cannot tell from a change of
/// the rest. The interval leaves out no change just where that of the difference does.
std::string relative(const ProfileDiff& diff, const Change& change) {
    const double before = change.before().value(), after = change.after().value(), half = change.half();
    if (diff.by_amount)
        return interval_text(change.difference() / before, std::max((change.difference() - half) / before, -1.0),
                             (change.difference() + half) / before);
    constexpr double nearly_whole = 0.995;  // the odds of the whole are infinite
    if (std::max(before, after) > nearly_whole)
        return sign_text(after - before) + points + " (" + sign_text(std::max(after - before - half, -1.0)) + " to " +
               sign_text(std::min(after - before + half, 1.0)) + ")";
    const double odds = std::log(after / (1 - after) * (1 - before) / before);
    const double wide = std::abs(odds / change.difference()) * half;
    return interval_text(std::exp(odds) - 1, std::exp(odds - wide) - 1, std::exp(odds + wide) - 1);
}

/// "CPU time a request", "CPU time against the rest".
std::string measured(const ProfileDiff& diff) {
    const std::string what = diff.of.substr(diff.of.starts_with("the ") ? 4 : 0);
    return diff.unit.empty() ? diff.by_amount ? diff.of : what + " against the rest" : what + " a " + diff.unit;
}

std::string percents(double part) {
    return short_decimal(100 * part, part < 0.00995 ? 2 : part < 0.0995 ? 1 : 0) + " %";
}

void put_words(const ProfileDiff& diff, Finding& finding, bool first) {
    const Change& change = finding.of_all;
    finding.name = finding.everything ? diff.by_amount && !first ? "everything else" : "everything"
                                      : clean_text(short_name(diff.profile, finding.function));
    finding.before = part_words(diff, change.before());
    finding.after = part_words(diff, change.after());
    finding.amount = change.before().count == 0  ? "new"
                     : change.after().count == 0 ? "gone"
                                                 : relative(diff, finding.change);
    constexpr std::size_t most = 3;
    const std::size_t from = finding.path.size() > most ? finding.path.size() - most : 0;
    for (std::size_t at = from; at < finding.path.size(); ++at)
        finding.where += (at == from ? "" : " › ") + clean_text(short_name(diff.profile, finding.path[at]));
}

std::string first_sentence(const ProfileDiff& diff, const DiffAnswer& answer) {
    const std::string whole = diff.unit.empty() ? " of " + diff.of : " of " + measured(diff);
    if (answer.findings.empty()) return "Nothing changed by more than " + percents(answer.rest) + whole + ".";
    const Finding& first = answer.findings.front();
    std::string text = first.name + ": ";
    if (first.amount == "new")
        text += "new, " + first.after + (diff.by_amount ? "" : whole);
    else if (first.amount == "gone")
        text += "gone, was " + first.before + (diff.by_amount ? "" : whole);
    else {
        const std::size_t interval = first.amount.find(" (");
        const bool of_whole = first.amount.find(points) != first.amount.npos;
        text += first.amount.substr(0, interval) + (of_whole ? whole : " " + measured(diff)) +
                first.amount.substr(interval) + ", " + first.before + " → " + first.after +
                (diff.by_amount || of_whole ? "" : whole);
    }
    const std::size_t more = answer.findings.size() - 1;
    if (more > 0) text += "; " + std::to_string(more) + (more == 1 ? " more change" : " more changes");
    if (std::ranges::none_of(answer.findings, &Finding::everything))
        text += "; nothing else changed by more than " + percents(answer.rest) + whole;
    return text + ".";
}

/// How often the runs would have to be repeated, so that a change of 1 % shows.
void put_doubts(const ProfileDiff& diff, DiffAnswer& answer) {
    constexpr double goal = 0.01;
    const auto found = answer.findings.size();
    if (found > 1) {
        const auto chance = std::max<std::uint64_t>(1, (answer.tested + 999) / 1000);
        answer.doubts.push_back("of " + std::to_string(found) + " changes listed at most " + std::to_string(chance) +
                                (chance == 1 ? " is" : " are") + " expected by chance");
    }
    if (answer.seen <= goal) return;
    std::string text = "changes below " + percents(answer.seen) + " would not be seen";
    const double factor = answer.seen * answer.seen / (goal * goal);
    const auto runs = std::max(diff.runs[0], diff.runs[1]);
    const double more = std::ceil(static_cast<double>(runs) * (factor - 1)),
                 seconds = std::max(diff.seconds[0], diff.seconds[1]) / runs;
    if (seconds > 0 && more < 10000)
        text += "; " + short_decimal(more, 0) + (more == 1 ? " more run" : " more runs") + " a side of " +
                short_decimal(seconds, seconds < 10 ? 1 : 0) + " s would show 1 %";
    answer.doubts.push_back(text);
}

}  // namespace

DiffAnswer answer_of(ProfileDiff& diff) {
    DiffAnswer answer = Search(diff).run();
    for (Finding& finding : answer.findings) put_words(diff, finding, &finding == &answer.findings.front());
    answer.sentence = first_sentence(diff, answer);
    put_doubts(diff, answer);
    return answer;
}

std::uint64_t count_grown(const DiffAnswer& answer, double part) {
    return static_cast<std::uint64_t>(std::ranges::count_if(answer.findings, [part](const Finding& finding) {
        return finding.change.difference() - finding.change.noise() > part;
    }));
}

std::string answer_text(const DiffAnswer& answer, std::size_t width) {
    std::string out = answer.sentence + "\n";
    const std::size_t room = width == 0 ? 0 : width > 60 ? width - 60 : 20;
    for (const Finding& finding : answer.findings) {
        const std::string name = room == 0 ? finding.name : fit_name(finding.name, std::max<std::size_t>(room / 2, 20));
        out += "  " + finding.amount + std::string(finding.amount.size() < 26 ? 26 - columns(finding.amount) : 1, ' ') +
               finding.before + " → " + finding.after + "  " + name +
               (finding.where.empty() ? "" : "  in " + finding.where) + "\n";
    }
    for (const std::string& doubt : answer.doubts) out += doubt + "\n";
    return out;
}

}  // namespace flameprobe
