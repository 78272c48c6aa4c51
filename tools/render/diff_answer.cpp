#include "diff_answer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "diff_machine.hpp"
#include "diff_measure.hpp"
#include "diff_pictures.hpp"
#include "render/describe.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

std::string sign_text(double part) {
    const double percent = 100 * part;
    const bool fine = std::abs(percent) < 9.95 || (percent < -99 && percent > -99.95);
    return (percent < 0 ? "−" : "+") + short_decimal(std::abs(percent), fine ? 1 : 0);
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
    constexpr double nearly_whole = 0.9995;  // the odds of the whole are infinite
    if (std::max(before, after) > nearly_whole || before == 0 || after == 0)
        return sign_text(after - before) + points + " (" + sign_text(std::max(after - before - half, -1.0)) + " to " +
               sign_text(std::min(after - before + half, 1.0)) + ")";
    const double odds = std::log(after / (1 - after) * (1 - before) / before);
    const double wide = std::abs(odds / change.difference()) * half;
    return interval_text(std::exp(odds) - 1, std::exp(odds - wide) - 1, std::exp(odds + wide) - 1);
}

/// "CPU time a request", "CPU time against the rest".
std::string measured(const ProfileDiff& diff) {
    const std::string what = diff.of.substr(diff.of.starts_with("the ") ? 4 : 0);
    return diff.unit.empty() ? diff.by_amount ? diff.of : what + " against the rest" : what + each_unit(diff.unit);
}

std::string percents(double part) {
    return short_decimal(100 * part, part < 0.00995 ? 2 : part < 0.0995 ? 1 : 0) + " %";
}

std::string name_of(const ProfileDiff& diff, FunctionId function) {
    return clean_text(short_name(diff.profile, function));
}

Finding in_words(const ProfileDiff& diff, const Found& found, bool first) {
    Finding finding{found, {}, {}, {}, {}, {}};
    const Change& change = found.of_all;
    finding.name = found.everything ? diff.by_amount && !first ? "everything else" : "everything"
                                    : (found.is_rest ? "the rest of " : "") + name_of(diff, found.function) +
                                          (found.own_code ? " itself" : "");
    finding.before = part_words(diff, change.before());
    finding.after = part_words(diff, change.after());
    finding.amount = change.before().count == 0  ? "new"
                     : change.after().count == 0 ? "gone"
                     // Of what moved, another part of the stacks is explained already.
                     : found.change.before().count == 0 || found.change.after().count == 0
                         ? relative(diff, change)
                         : relative(diff, found.change);
    constexpr std::size_t most = 3;
    const std::size_t from = found.path.size() > most ? found.path.size() - most : 0;
    for (std::size_t at = from; at < found.path.size(); ++at)
        finding.where += (at == from ? "" : " › ") + name_of(diff, found.path[at]);
    return finding;
}

std::string first_sentence(const ProfileDiff& diff, const DiffAnswer& answer) {
    const std::string whole = diff.unit.empty() ? " of " + diff.of : " of " + measured(diff);
    constexpr double vague = 0.3;
    if (answer.findings.empty())
        return "Nothing changed by more than " + percents(answer.rest) + whole +
               (answer.rest > vague ? ": the samples are too few to tell more." : ".");
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
    if (std::ranges::none_of(answer.findings, &Finding::everything) && answer.rest <= vague)
        text += "; nothing else changed by more than " + percents(answer.rest) + whole;
    return text + ".";
}

/// How often the runs would have to be repeated, so that a change of 1 % shows.
std::string limit_text(const ProfileDiff& diff, const DiffSearch& search) {
    constexpr double goal = 0.01;
    std::string text;
    if (search.seen > goal) {
        text = "a change below " + percents(search.seen) + " may not be seen";
        const double factor = search.seen * search.seen / (goal * goal);
        const auto runs = std::max(diff.runs[0], diff.runs[1]);
        const double more = std::ceil(static_cast<double>(runs) * (factor - 1)),
                     seconds = std::max(sum_of(diff.seconds[0]), sum_of(diff.seconds[1])) / runs;
        if (seconds > 0 && more < 10000)
            text += "; " + short_decimal(more, 0) + (more == 1 ? " more run" : " more runs") + " a side of " +
                    short_decimal(seconds, seconds < 10 ? 1 : 0) + " s would show 1 %";
    }
    if (!search.dominant) return text;
    return text + (text.empty() ? "" : "; ") + name_of(diff, *search.dominant) +
           " has most of the whole, so its change is seen from " + percents(search.dominant_seen) + " on";
}

std::string rate_words(double rate) {
    return rate < 1000 ? short_decimal(rate, 1) : count_text(static_cast<std::uint64_t>(std::llround(rate)));
}

/// How the rate changed, from the time for each unit.
void put_rate(const ProfileDiff& diff, DiffAnswer& answer) {
    const auto rate = work_rate(diff);
    if (!rate) return;
    const double before = rate->time.before().value(), after = rate->time.after().value();
    const auto change = [&](double time) { return before / std::max(time, 1e-9) - 1; };
    const double half = rate->time.half();
    answer.least_fall = std::max(0.0, -change(after - rate->time.noise()));
    answer.doubts.push_back(std::string("throughput: ") + (rate->time.is_noise() ? "within noise, " : "") +
                            interval_text(change(after), change(after + half), change(after - half)) + ", " +
                            rate_words(rate->before) + " → " + rate_words(rate->after) + " " + diff.unit + " a second");
}

void put_doubts(const ProfileDiff& diff, const DiffSearch& search, DiffAnswer& answer) {
    answer.doubts = diff.leads;
    put_rate(diff, answer);
    for (const Found& found : search.found) {
        if (!found.or_shrank) continue;
        answer.doubts.push_back("shares do not tell whether " + name_of(diff, found.function) + " grew or " +
                                name_of(diff, *found.or_shrank) +
                                " shrank: compare runs of the same work with --per run, or count its units");
    }
    if (const auto time = time_of_run(diff)) {
        double explained = 1;
        for (const Found& found : search.found) explained += found.growth;
        if (std::abs(time->change - std::log(std::max(explained, 1e-3))) > z_of_999_in_1000 * time->deviation)
            answer.doubts.push_back("a run took " + duration_text(static_cast<std::uint64_t>(time->before)) +
                                    " of CPU time before, " + duration_text(static_cast<std::uint64_t>(time->after)) +
                                    " after, which shares do not explain: --per run compares it");
    }
    constexpr double told = 0.01;
    const auto [before, after] = search.interrupts;
    if (std::max(before, after) >= told)
        answer.doubts.push_back("not searched are interrupts, which the machine decides: " + percents(before) +
                                " before, " + percents(after) + " after");
    const auto found = search.found.size();
    if (found > 1) {
        const auto chance = std::max<std::uint64_t>(1, (search.tested + 999) / 1000);
        answer.doubts.push_back("of " + std::to_string(found) + " changes listed at most " + std::to_string(chance) +
                                (chance == 1 ? " is" : " are") + " expected by chance");
    }
    if (const std::string limit = limit_text(diff, search); !limit.empty()) answer.doubts.push_back(limit);
}

}  // namespace

const DiffAnswer& answer_of(ProfileDiff& diff) {
    if (diff.answer) return *diff.answer;
    const DiffSearch search = search_changes(diff);
    DiffAnswer answer;
    answer.rest = search.rest, answer.seen = search.seen;
    for (const Found& found : search.found)
        answer.findings.push_back(in_words(diff, found, &found == &search.found.front()));
    answer.sentence = first_sentence(diff, answer);
    put_doubts(diff, search, answer);
    diff.answer = std::make_shared<const DiffAnswer>(std::move(answer));
    return *diff.answer;
}

std::string each_unit(std::string unit) {
    if (unit.ends_with("ies") && unit.size() > 4)
        unit.replace(unit.size() - 3, 3, "y");
    else if (unit.ends_with('s') && !unit.ends_with("ss"))
        unit.pop_back();
    const bool vowel = !unit.empty() && std::string_view("aeio").find(unit.front()) != std::string_view::npos;
    return (vowel ? " an " : " a ") + unit;
}

std::uint64_t count_grown(const DiffAnswer& answer, double part) {
    const auto grown =
        std::ranges::count_if(answer.findings, [part](const Finding& one) { return one.least_growth > part; });
    return static_cast<std::uint64_t>(grown) + (answer.least_fall > part ? 1 : 0);
}

std::string answer_text(const DiffAnswer& answer, std::size_t width) {
    std::string out = answer.sentence + "\n";
    const std::size_t room = width == 0 ? 0 : width > 60 ? width - 60 : 20;
    for (const Finding& finding : answer.findings) {
        const std::string name = room == 0 ? finding.name : fit_name(finding.name, std::max<std::size_t>(room / 2, 20));
        out += "  " + finding.amount +
               std::string(columns(finding.amount) < 26 ? 26 - columns(finding.amount) : 1, ' ') + finding.before +
               " → " + finding.after + "  " + name + (finding.where.empty() ? "" : "  in " + finding.where) + "\n";
    }
    for (const std::string& doubt : answer.doubts) out += doubt + "\n";
    return out;
}

}  // namespace flameprobe
