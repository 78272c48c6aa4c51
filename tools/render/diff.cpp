#include "diff.hpp"

#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "compare/correspondence.hpp"
#include "diff_measure.hpp"
#include "merge.hpp"
#include "render/function_totals.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

/// Leaves counts out, and their pieces.
void keep_samples(DiffSide& side, const auto& wanted) {
    std::vector<NamedCount>& counts = side.profile.counts;
    std::vector<std::uint32_t> now(counts.size());
    constexpr std::uint32_t none = ~std::uint32_t{0};
    std::uint32_t next = 0;
    for (std::uint32_t at = 0; at < counts.size(); ++at) {
        now[at] = wanted(counts[at]) ? next++ : none;
        if (now[at] != none) counts[now[at]] = counts[at];
    }
    counts.resize(next);
    std::erase_if(side.pieces, [&](const Piece& piece) { return now[piece.count] == none; });
    for (Piece& piece : side.pieces) piece.count = now[piece.count];
}

void keep_names_only(NamedProfile& profile) {
    for (Function& function : profile.functions) {
        // Another build may inline other functions, and folded text does not distinguish threads and notes from
        // functions.
        const bool kept = function.kind == FrameKind::kernel || function.kind == FrameKind::held;
        function = {function.name, 0, 0, 0, kept ? function.kind : FrameKind::user};
    }
    for (NamedFrame& frame : profile.frames) frame.line = 0;
    // Thread ids differ from run to run; a thread's name is the first frame.
    profile.threads.clear();
    profile.summary.threads.clear();
    for (NamedCount& count : profile.counts) count.thread = 0;
}

/// Ranks descriptions of one function, the higher the better: scopes and threads above functions, functions above
/// inlined ones, and those with a known file above others.
int detail_rank(const Function& function) {
    const bool special = function.kind != FrameKind::user && function.kind != FrameKind::inlined;
    return (special ? 4 : 0) + (function.kind != FrameKind::inlined ? 2 : 0) + (function.module != 0 ? 1 : 0);
}

/// Finds the best description of each function of `both`, from the two profiles that were merged into it.
class BestDescriptions {
public:
    explicit BestDescriptions(NamedProfile& both) : both_(both), known_(both.functions), ranks_(known_.size(), -1) {
        for (FunctionId id = 0; id < known_.size(); ++id) ids_.emplace(key(both.strings, known_[id]), id);
    }
    void add(const StringTable& strings, const std::vector<Function>& functions) {
        for (const Function& function : functions) {
            const auto found = ids_.find(key(strings, function));
            if (found == ids_.end() || detail_rank(function) < ranks_[found->second]) continue;
            ranks_[found->second] = detail_rank(function);
            Function& known = known_[found->second];
            known.file = both_.strings.intern(strings.view(function.file));
            known.module = both_.strings.intern(strings.view(function.module));
            known.line = function.line;
            known.kind = function.kind;
        }
    }
    std::vector<Function> take() { return std::move(known_); }

private:
    static std::string key(const StringTable& strings, const Function& function) {
        const char* const kind = function.kind == FrameKind::kernel ? "\1"
                                 : function.kind == FrameKind::held ? "\2"
                                                                    : "";
        return std::string(strings.view(function.name)) + kind;
    }
    NamedProfile& both_;
    std::vector<Function> known_;
    std::vector<int> ranks_;
    std::unordered_map<std::string, FunctionId> ids_;
};

/// Removes lost samples: a busy machine loses more, but that is no change of any function. Returns their share of all
/// weight. Keeps them if the profile has no other samples.
double leave_out_lost(DiffSide& side) {
    const NamedProfile& profile = side.profile;
    const auto all = total_weight(profile);
    const auto is_sampled = [&](const NamedCount& count) {
        if (count.node == 0) return true;
        const Function& function = profile.function(count.node);
        const std::string_view leaf = profile.strings.view(function.name);
        return leaf != note_text(Note::lost) && leaf != note_text(Note::throttled);
    };
    if (std::ranges::none_of(profile.counts, is_sampled)) return 0;
    keep_samples(side, is_sampled);
    return 1 - static_cast<double>(total_weight(profile)) / static_cast<double>(all);
}

/// Large enough that rounding does not matter, small enough that sums stay in 64 bits.
std::uint64_t multiplier(std::uint64_t samples) {
    constexpr std::uint64_t whole = 1'000'000'000'000'000;
    return std::max<std::uint64_t>(1, whole / samples);
}

// Weight without a hit is CPU time that was not sampled, such as the rest of a tick at a thread's end. Its variance is
// computed as if it came in pieces as large as the weight of a sample.
double weight_of_hit(const NamedProfile& profile) {
    double weight = 0, hits = 0;
    for (const NamedCount& count : profile.counts) {
        if (count.hits == 0) continue;
        weight += static_cast<double>(count.weight);
        hits += static_cast<double>(count.hits);
    }
    return hits == 0 ? 1 : std::max(1.0, weight / hits);
}

double variance_of(std::uint64_t weight, std::uint64_t hits, double unsampled_piece) {
    const auto w = static_cast<double>(weight);
    return w * (hits == 0 ? unsampled_piece : w / static_cast<double>(hits));
}

}  // namespace

double Change::noise() const {
    const double n = static_cast<double>(before_.of), m = static_cast<double>(after_.of);
    if (n == 0 || m == 0) return 1;
    if (by_amount_) return z_of_999_in_1000 * std::sqrt(widening_ * (before_.variance + after_.variance)) / n;
    const double count = static_cast<double>(before_.count) + static_cast<double>(after_.count), rest = n + m - count;
    const double common = count / (n + m);
    // The weight of an observation, inside of the share and outside of it. If both are 1 this is the variance of a
    // binomial.
    const double variance = before_.variance + after_.variance;
    const double hit = count > 0 ? variance / count : 0;
    const double other = rest > 0 ? std::max(0.0, before_.variance_of + after_.variance_of - variance) / rest : 0;
    const double spread = (1 - common) * (1 - common) * common * hit + common * common * (1 - common) * other;
    return z_of_999_in_1000 * std::sqrt(widening_ * spread * (1 / n + 1 / m));
}

double Change::p() const {
    const double deviation = noise() / z_of_999_in_1000;
    if (deviation <= 0) return difference() == 0 ? 1 : 0;
    return std::erfc(std::abs(difference()) / deviation / std::sqrt(2.0));
}

double Change::half() const { return 1.959963985 / z_of_999_in_1000 * noise(); }

bool Change::is_noise() const { return std::abs(difference()) <= noise(); }

namespace {

/// Of what weights are, as a reader knows it; empty for folded text, which does not say.
std::string kind_of(const NamedProfile& profile) {
    if (!profile.has_run) return {};
    if (counts_living(profile.run)) return "what is alive of " + profile.run.event;
    if (counts_bytes(profile.run)) return "allocated bytes";
    if (counts_waiting(profile.run)) return "time off the CPU";
    if (weighs_nanoseconds(profile.run)) return "CPU time";
    return profile.run.event;
}

/// The pieces of a side by the counts of both.
std::vector<Piece> renumbered(std::vector<Piece> pieces, const std::vector<std::uint32_t>& now) {
    for (Piece& piece : pieces) piece.count = now[piece.count];
    std::ranges::sort(pieces, {}, [](const Piece& piece) { return std::pair(piece.count, piece.cluster); });
    return pieces;
}

}  // namespace

Result<ProfileDiff> diff_sides(DiffSide first_side, DiffSide second_side, const Measure& measure) {
    NamedProfile &before = first_side.profile, &after = second_side.profile;
    ProfileDiff diff;
    if (const std::string one = kind_of(before), other = kind_of(after); !one.empty() && !other.empty() && one != other)
        return Error{"before is of " + one + ", after of " + other + ": choose an event of both by --event"};
    if (before.has_run && after.has_run) diff.of = kind_of(after) == "CPU time" ? "the CPU time" : "the time";
    if (before.has_run && after.has_run && !weighs_nanoseconds(after.run)) diff.of = kind_of(after);
    const double lost_before = leave_out_lost(first_side), lost_after = leave_out_lost(second_side);
    for (DiffSide* const side : {&first_side, &second_side})
        keep_samples(*side, [](const NamedCount& count) { return count.weight != 0; });
    const std::array<std::uint64_t, 2> hits = {total_hits(before), total_hits(after)};
    if (auto chosen = choose_measure(diff, first_side, second_side, measure); !chosen) return chosen.error();
    const double later_units = diff.unit.empty() ? 1 : sum_of(units_of(second_side, diff.unit));
    diff.wholes = {wholes_of(first_side, diff.unit, 1), wholes_of(second_side, diff.unit, diff.units / later_units)};
    diff.weight_before = total_weight(before), diff.weight_after = total_weight(after);
    diff.samples_before = hits[0], diff.samples_after = hits[1];
    const bool alive = diff.by_amount && diff.unit.empty();
    const bool comparable =
        alive ? diff.weight_before + diff.weight_after > 0 : diff.weight_before > 0 && diff.weight_after > 0;
    if (!comparable) {
        return Error{std::string("there are no samples ") + (diff.weight_before == 0 ? "before" : "after") +
                     ": nothing can be compared"};
    }
    diff.is_time = {weighs_nanoseconds(before.run), weighs_nanoseconds(after.run)};
    // Shares are compared, so each side's weights keep their unit.
    if (!before.has_run || !after.has_run || !same_period(before.run, after.run))
        before.run.period_ns = after.run.period_ns = diff.unit.empty() || !before.has_run || !after.has_run ? 0 : 1;
    const Correspondence same = make_alike(before, after);
    diff.matched = {same.matched_before, same.matched_after};
    diff.remarks = same.remarks;
    diff.leads = same.leads;
    const std::vector<Function> functions_before = before.functions, functions_after = after.functions;
    const auto programs_before = before.programs, programs_after = after.programs;
    keep_names_only(before);
    keep_names_only(after);
    const double piece_before = weight_of_hit(before), piece_after = weight_of_hit(after);
    ProfileMerger merger;
    merger.add(before);
    diff.pieces[0] = renumbered(std::move(first_side.pieces), merger.last_counts());
    const std::vector<NamedCount> first = merger.counts();
    merger.add(after);
    diff.pieces[1] = renumbered(std::move(second_side.pieces), merger.last_counts());
    diff.profile = merger.take();
    BestDescriptions best(diff.profile);
    best.add(before.strings, functions_before);
    best.add(after.strings, functions_after);
    diff.descriptions = best.take();
    if (lost_before + lost_after > 0) {
        diff.left_out = "left out is CPU time whose samples were lost: " + percent_text(lost_before, 1) + " before, " +
                        percent_text(lost_after, 1) + " after";
        diff.profile.warnings.push_back(diff.left_out);
    }
    const std::uint64_t sum = diff.weight_before + diff.weight_after;
    const std::uint64_t times_before = multiplier(diff.by_amount ? sum : diff.weight_before),
                        times_after = multiplier(diff.by_amount ? sum : diff.weight_after);
    for (std::size_t i = 0; i < diff.profile.counts.size(); ++i) {
        NamedCount& both = diff.profile.counts[i];
        const NamedCount& was = i < first.size() ? first[i] : NamedCount{};
        diff.before.push_back(was.weight);
        diff.after.push_back(both.weight - was.weight);
        diff.hits_before.push_back(was.hits);
        diff.hits_after.push_back(both.hits - was.hits);
        diff.variance_before.push_back(variance_of(was.weight, was.hits, piece_before));
        diff.variance_after.push_back(variance_of(both.weight - was.weight, both.hits - was.hits, piece_after));
        diff.all_variance_before += diff.variance_before.back();
        diff.all_variance_after += diff.variance_after.back();
        both.weight = diff.before[i] * times_before + diff.after[i] * times_after;
    }
    diff.clusters = {first_side.clusters, second_side.clusters};
    diff.threads = {first_side.threads, second_side.threads};
    diff.runs = {first_side.runs, second_side.runs};
    diff.of_one_run = first_side.of_one_run && second_side.of_one_run;
    diff.seconds = {first_side.durations, second_side.durations};
    widen(diff);
    return diff;
}

Result<ProfileDiff> diff_profiles(NamedProfile before, NamedProfile after) {
    std::vector<NamedProfile> one, other;
    one.push_back(std::move(before));
    other.push_back(std::move(after));
    return diff_sides(diff_side(std::move(one)), diff_side(std::move(other)));
}

}  // namespace flameprobe
