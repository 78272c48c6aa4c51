#include "diff_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "diff_candidates.hpp"
#include "diff_machine.hpp"
#include "render/role.hpp"

namespace flameprobe {

namespace {

constexpr double least_told = 0.001;
constexpr double nearly = 0.85;  // explains as much, but for chance

double share_of(std::uint64_t weight, std::uint64_t whole) {
    return static_cast<double>(weight) / static_cast<double>(std::max<std::uint64_t>(1, whole));
}

class Search {
public:
    explicit Search(ProfileDiff& diff)
        : diff_(diff), removed_(diff.profile.counts.size()), time_(time_of_run(diff)), left_(*diff.sums) {
        std::swap(diff.profile.functions, diff.descriptions);
        roles_ = function_roles(diff.profile);
        std::swap(diff.profile.functions, diff.descriptions);
        functions_.assign(diff.profile.nodes.size(), no_function);
        for (NodeId node = 1; node < functions_.size(); ++node)
            if (diff.profile.nodes[node].frame < diff.profile.frames.size())
                functions_[node] = diff.profile.function_of(node);
        leave_out_interrupts();
    }

    DiffSearch run() {
        constexpr std::size_t most = 20;
        while (result_.found.size() < most && add_finding()) {
        }
        return std::move(result_);
    }

private:
    /// When a CPU is interrupted, and for whom, the machine decides: a busy one has more of it.
    void leave_out_interrupts() {
        const NamedProfile& profile = diff_.profile;
        const std::vector<bool> below = below_interrupts(profile);
        std::uint64_t before = 0, after = 0;
        for (std::uint32_t i = 0; i < profile.counts.size(); ++i) {
            if (!below[profile.counts[i].node]) continue;
            leave_out(i);
            before += diff_.before[i], after += diff_.after[i];
        }
        result_.interrupts = {share_of(before, diff_.weight_before), share_of(after, diff_.weight_after)};
    }

    void leave_out(std::uint32_t count) {
        removed_[count] = true;
        left_.remove(diff_, count);
    }

    bool is_told(const Candidate& one) const {
        return !one.change.is_noise() && std::abs(one.growth(diff_.by_amount)) >= least_told;
    }

    /// The candidate that explains most; of several that explain nearly as much the one in own code.
    const Candidate* best_of(const std::vector<Candidate>& list) const {
        const Candidate* best = nullptr;
        for (const Candidate& one : list)
            if (is_told(one) && (best == nullptr || one.score > best->score)) best = &one;
        if (best == nullptr || best->everything) return best;
        // What nearly all stacks have is no place in the program.
        constexpr double nearly_all = 0.95;
        if (list.front().everything && !list.front().change.is_noise() &&
            best->both() > nearly_all * list.front().both())
            return &list.front();
        return outermost(list, best);
    }

    /// Of own code that explains nearly as much the outermost, which is what its author calls the change.
    const Candidate* outermost(const std::vector<Candidate>& list, const Candidate* best) const {
        const Candidate* own = nullptr;
        const double least = (roles_[best->function] == Role::own && !best->own_code ? 0.97 : nearly) * best->score;
        for (const Candidate& one : list) {
            if (one.everything || one.own_code || roles_[one.function] != Role::own || !is_told(one)) continue;
            const bool same_way = one.change.difference() * best->change.difference() > 0;
            if (same_way && one.score >= least && (own == nullptr || one.both() > own->both())) own = &one;
        }
        return named(list, own == nullptr ? best : own);
    }

    /// Of code without a name what it calls, or is called by, if that explains nearly as much.
    const Candidate* named(const std::vector<Candidate>& list, const Candidate* best) const {
        const auto has_name = [&](const Candidate& one) {
            return !diff_.profile.strings.view(diff_.profile.functions[one.function].name).starts_with('[');
        };
        if (has_name(*best)) return best;
        const Candidate* other = nullptr;
        for (const Candidate& one : list) {
            const bool same_way = one.change.difference() * best->change.difference() > 0;
            if (one.everything || one.own_code || !has_name(one) || !same_way || !is_told(one)) continue;
            if (one.score >= nearly * best->score && (other == nullptr || one.score > other->score)) other = &one;
        }
        return other == nullptr ? best : other;
    }

    /// Whether the time of a run changed as it would if `one` changed, and nothing else.
    bool tells_time(const Candidate& one) const {
        if (!time_) return false;
        const double expected = std::log(std::max(1 + one.growth(false), 1e-3)), wide = 2 * time_->deviation;
        return std::abs(time_->change - expected) <= wide && std::abs(time_->change) > wide;
    }

    /// Where one part grew against all else, and that is one part, too, either explains what is seen. The time of a run
    /// tells, or growth is told, since no gate may pass for it. Changes `best`; returns what else it may be.
    const Candidate* rival_of(const std::vector<Candidate>& list, const Candidate*& best) const {
        constexpr double whole = 0.95;
        if (diff_.by_amount || best->everything) return nullptr;
        const Candidate* rival = nullptr;
        for (const Candidate& one : list) {
            if (one.change.difference() * best->change.difference() >= 0 || !is_told(one)) continue;
            if (one.score < nearly * best->score) continue;
            if (const double both = one.both() + best->both(); both < 2 * whole || both > 2 * (2 - whole)) continue;
            if (rival == nullptr || one.score > rival->score) rival = &one;
        }
        if (rival == nullptr) return nullptr;
        rival = outermost(list, rival);
        if (best->change.difference() < 0) std::swap(rival, best);
        if (tells_time(*rival)) std::swap(rival, best);
        return tells_time(*best) ? nullptr : rival;
    }

    void put_limits(const std::vector<Candidate>& list, double left) {
        constexpr double power = 1 + 1.645 / z_of_999_in_1000;  // 95 of 100 are beyond the noise
        constexpr double least = 0.8;
        double smallest = most_share;
        for (const Candidate& one : list) {
            if (one.everything) continue;
            const Change& change = one.change;
            const double before = change.before().value(), after = change.after().value();
            const double as_growth = diff_.by_amount ? 1 : 1 / std::max(1 - std::max(before, after), 1e-4);
            const double seen = left * power * change.noise() * as_growth;
            if (diff_.by_amount || std::min(before, after) <= 0.5) {
                result_.rest =
                    std::max(result_.rest, left * (std::abs(change.difference()) + change.half()) * as_growth);
                result_.seen = std::max(result_.seen, seen);
            } else if (std::min(before, after) > least && std::min(before, after) < smallest && !one.own_code &&
                       roles_[one.function] <= Role::library) {
                smallest = std::min(before, after);
                result_.dominant = one.function;
                result_.dominant_seen = seen / (left * before);
            }
        }
        if (result_.dominant_seen > 1) result_.dominant.reset();
        if (!diff_.by_amount) {  // with few clusters the intervals reach beyond the whole
            result_.rest = std::min(result_.rest, 1.0);
            result_.seen = std::min(result_.seen, 1.0);
        }
    }

    /// Whether `left` has it on one side only, since what explains the other side's was found before.
    bool has_moved(const Candidate& one, const FunctionSums& left) const {
        if (one.everything || one.own_code || (left.total_before > 0) == (left.total_after > 0)) return false;
        const FunctionSums& all = whole_[one.function];
        if (all.total_before == 0 || all.total_after == 0) return false;
        const double change =
            share_of(all.total_after, diff_.weight_after) - share_of(all.total_before, diff_.weight_before);
        return change * one.change.difference() > 0;
    }

    bool add_finding() {
        const DiffSums& sums = left_;
        const std::vector<Candidate> list = candidates_of(diff_, sums);
        if (result_.found.empty()) result_.tested = list.size();
        const double left = diff_.by_amount ? 1 : share_of(sums.all().total_before, diff_.weight_before);
        const Candidate* best = best_of(list);
        if (best == nullptr) {
            put_limits(list, left);
            return false;
        }
        std::optional<FunctionId> shrank;
        if (const Candidate* const rival = rival_of(list, best)) shrank = rival->function;
        if (result_.found.empty()) whole_ = sums.sums();
        const FunctionSums& left_sum = best->everything ? sums.all() : sums.sums()[best->function];
        const FunctionSums& sum = has_moved(*best, left_sum) ? whole_[best->function] : left_sum;
        const Change& change = best->change;
        const double low = change.after().value() - change.noise();
        const bool is_rest =
            !best->everything && left_sum.total_before + left_sum.total_after <
                                     whole_[best->function].total_before + whole_[best->function].total_after;
        result_.found.push_back(
            {.function = best->function,
             .everything = best->everything,
             .own_code = best->own_code,
             .is_rest = is_rest && &sum == &left_sum && !best->own_code,
             .change = change,
             .of_all = best->own_code ? diff_.change(sum.self_before, sum.self_after, sum.self_variance_before,
                                                     sum.self_variance_after, diff_.widening)
                                      : diff_.change(sum.total_before, sum.total_after, sum.total_variance_before,
                                                     sum.total_variance_after, diff_.widening),
             .growth = left * best->growth(diff_.by_amount),
             .least_growth = left * (diff_.by_amount ? change.difference() - change.noise()
                                                     : growth_of(change.before().value(), low)),
             .or_shrank = shrank,
             .path = {},
             .callers = {}});
        remove(result_.found.back());
        return true;
    }

    /// Of each node the outermost one of the finding from the root to it; 0: there is none.
    std::vector<NodeId> nodes_in(const Found& found) const {
        const NamedProfile& profile = diff_.profile;
        std::vector<NodeId> in(profile.nodes.size());  // a parent comes before its children
        for (NodeId node = 1; node < in.size(); ++node) {
            const NodeId above = found.own_code ? 0 : in[profile.nodes[node].parent];
            in[node] = above != 0 ? above : functions_[node] == found.function ? node : 0;
        }
        return in;
    }

    void remove(Found& found) {
        const std::vector<NodeId> in = found.everything ? std::vector<NodeId>() : nodes_in(found);
        double most = -1;
        for (std::uint32_t i = 0; i < diff_.profile.counts.size(); ++i) {
            if (removed_[i]) continue;
            const NodeId at = found.everything ? 0 : in[diff_.profile.counts[i].node];
            if (found.everything || at != 0) leave_out(i);
            if (at == 0) continue;
            const double moved =
                std::abs(share_of(diff_.after[i], diff_.weight_after) - share_of(diff_.before[i], diff_.weight_before));
            if (moved <= most) continue;
            most = moved;
            put_path(found, at);
        }
    }

    void put_path(Found& found, NodeId at) const {
        const NamedProfile& profile = diff_.profile;
        found.path.clear();
        found.callers.clear();
        for (NodeId node = profile.nodes[at].parent; node != 0; node = profile.nodes[node].parent) {
            if (profile.nodes[node].frame >= profile.frames.size()) continue;
            const FunctionId function = profile.function_of(node);
            found.callers.push_back(function);
            if (roles_[function] == Role::own) found.path.push_back(function);
        }
        std::ranges::reverse(found.path);
        std::ranges::reverse(found.callers);
    }

    const ProfileDiff& diff_;
    std::vector<bool> removed_;
    std::vector<Role> roles_;
    static constexpr FunctionId no_function = ~FunctionId{0};  // frames that were left out of a deep stack
    std::vector<FunctionId> functions_;                        // of nodes
    const std::optional<TimeOfRun> time_;
    DiffSums left_;
    DiffSearch result_;
    std::vector<FunctionSums> whole_;  // before anything was found
};

}  // namespace

DiffSearch search_changes(ProfileDiff& diff) { return Search(diff).run(); }

}  // namespace flameprobe
