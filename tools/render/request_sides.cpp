#include "request_sides.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/paths.hpp"
#include "loader.hpp"
#include "outside/reader.hpp"
#include "render/plain_name.hpp"
#include "render/role.hpp"
#include "render/text.hpp"
#include "render/wait_cause.hpp"

namespace flameprobe {

namespace {

/// Only how long requests took, and which events there are.
class RequestScan final : public PartialSink {
public:
    RequestDurations durations, fresh;  // fresh: whose passings are kept
    bool has_waits = false;

    void host(const HostRecord& record) override {
        const auto* const times = std::get_if<RequestTimes>(&record);
        if (times == nullptr) return;
        durations[times->label].add(*times);
        if (!times->coarse) fresh[times->label].add(*times);
    }
    void event(EventId /*id*/, const EventInfo& info) override {
        has_waits = has_waits || info.name == event_name::offcpu;
    }
};

Result<void> scan(const std::string& path, RequestScan& into) {
    if (!can_be_read_twice(path)) return Error{path + ": --requests reads it twice: name a file"};
    auto source = ByteSource::open(path);
    if (!source) return source.error();
    for (bool more = true; more;) {
        if (auto read = read_profile(*source, into); !read) return read.error();
        const auto follows = has_more(*source);
        if (!follows) return follows.error();
        more = *follows;
    }
    return {};
}

/// The first cell from which on there are at most `part` of all requests.
std::uint32_t slowest_cell(const Durations& all, double part) {
    const double most = part * static_cast<double>(all.count());
    std::uint32_t from = duration_cells;
    std::uint64_t above = 0;
    for (auto at = all.cells.rbegin(); at != all.cells.rend(); ++at) {
        above += at->second;
        if (static_cast<double>(above) > most) break;
        from = at->first;
    }
    return from;
}

std::string labels_of(const RequestDurations& durations) {
    std::string list;
    for (const auto& [label, times] : durations) list += (list.empty() ? "" : ", ") + clean_text(label);
    return list.empty() ? "it has none (FlameProbe::Request)" : "it has " + list;
}

std::string why_of(const WaitCause& cause) {
    if (cause.kind != WaitKind::lock || cause.holder.empty()) return " (" + cause.call + ")";
    const bool named = !cause.lock.empty() && !cause.lock.starts_with("0x");
    return (named ? " for `" + cause.lock + "`, held by " : " for a lock held by ") + cause.holder;
}

std::string without_unnamed(std::string text) {
    constexpr std::string_view unnamed = "(anonymous namespace)::";
    for (std::size_t at = 0; (at = text.find(unnamed)) != text.npos;) text.erase(at, unnamed.size());
    return text;
}

std::string times_text(double factor) { return short_decimal(factor, factor < 9.95 ? 1 : 0) + " × p50"; }

}  // namespace

Result<RequestSides> RequestSides::choose(Arguments& arguments, const std::vector<std::string>& inputs) {
    RequestScan found;
    for (const std::string& path : inputs)
        if (auto read = scan(path, found); !read) return read.error();
    RequestSides sides;
    sides.label_ = arguments.filter.requests.label;
    const auto its = found.durations.find(sides.label_);
    if (its == found.durations.end() || its->second.count() == 0)
        return Error{inputs.front() + ": has no requests '" + sides.label_ + "': " + labels_of(found.durations)};
    sides.all_ = its->second;
    if (arguments.between) {
        sides.slow_ = {sides.label_, static_cast<std::uint32_t>(duration_cell(arguments.between->first)),
                       static_cast<std::uint32_t>(duration_cell(arguments.between->second))};
    } else {
        sides.slow_ = {sides.label_, slowest_cell(sides.all_, arguments.slowest.value_or(1) / 100)};
    }
    sides.fresh_ = found.fresh[sides.label_];
    for (const auto& [cell, count] : sides.fresh_.cells) sides.slow_count_ += sides.slow_.has(cell) ? count : 0;
    const std::uint64_t all = sides.fresh_.count();
    if (all == 0)
        return Error{inputs.front() + ": has the durations of all '" + sides.label_ +
                     "', but their samples have no times any more: the profile was made smaller (FLAMEPROBE_MAX_SIZE)"};
    if (sides.slow_count_ == 0 || sides.slow_count_ == all)
        return Error{inputs.front() + ": " + (sides.slow_count_ == 0 ? "no" : "every") + " '" + sides.label_ +
                     "' is so slow: of " + count_text(all) + " p50 is " + duration_text(sides.all_.at(0.5)) + ", p99 " +
                     duration_text(sides.all_.at(0.99)) + ", the longest " + duration_text(sides.all_.longest_ns) +
                     "; choose by --between"};
    sides.others_count_ = all - sides.slow_count_;
    sides.has_waits_ = found.has_waits;
    if (arguments.filter.event.empty() && found.has_waits) arguments.filter.event = event_name::wall;
    arguments.filter.requests = sides.slow_;
    arguments.per = sides.label_;
    return sides;
}

std::string RequestSides::words(bool slow) const {
    if (!slow) return "the other " + clean_text(label_);
    const std::string from = duration_text(begin_of_duration_cell(slow_.from_cell));
    if (slow_.to_cell >= duration_cells) return clean_text(label_) + " of " + from + " and more";
    return clean_text(label_) + " of " + from + " to " + duration_text(begin_of_duration_cell(slow_.to_cell + 1));
}

void RequestSides::learn(const NamedProfile& profile, bool slow) {
    const std::vector<Role> roles = function_roles(profile);
    const bool has_own = std::ranges::find(roles, Role::own) != roles.end();
    std::set<FunctionId> functions;
    for (const NamedCount& count : profile.counts) {
        functions.clear();
        for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent) {
            const FunctionId id = profile.function_of(node);
            if (roles[id] == Role::own || (!has_own && roles[id] == Role::library)) functions.insert(id);
        }
        const WaitCause cause = wait_cause(profile, count.node);
        const auto ns = static_cast<double>(count.weight);
        (slow ? slow_sampled_ns_ : others_sampled_ns_) += ns;
        for (const FunctionId id : functions) {
            Spent& spent = spent_[std::string(profile.strings.view(profile.functions[id].name))];
            if (!slow) {
                spent.others_ns += ns;
                continue;
            }
            spent.name = clean_text(plain_name(profile, id));
            spent.slow_ns += ns;
            spent.variance += ns * ns / static_cast<double>(std::max<std::uint64_t>(count.hits, 1));
            if (cause.kind == WaitKind::none) continue;
            spent.wait_ns += ns;
            spent.why[why_of(cause)] += ns;
        }
    }
}

/// The function that has most of what the slow ones took longer: of several the one that the others hardly have.
const RequestSides::Spent* RequestSides::cause() const {
    constexpr double nearly = 0.8;
    const auto added = [&](const Spent& spent) {
        return spent.slow_ns / static_cast<double>(slow_count_) - spent.others_ns / static_cast<double>(others_count_);
    };
    double most = 0;
    for (const auto& [name, spent] : spent_) most = std::max(most, added(spent));
    const Spent* found = nullptr;
    for (const auto& [name, spent] : spent_) {
        if (spent.slow_ns == 0 || added(spent) <= 0 || added(spent) < nearly * most) continue;
        const bool better = found == nullptr || spent.others_ns < found->others_ns ||
                            (spent.others_ns == found->others_ns && added(spent) > added(*found));
        if (better) found = &spent;
    }
    return found;
}

std::string RequestSides::sentence() const {
    const auto slow = static_cast<double>(slow_count_), others = static_cast<double>(others_count_);
    const auto time = [](double ns) { return duration_text(static_cast<std::uint64_t>(std::max(ns, 0.0))); };
    const double p50 = static_cast<double>(all_.at(0.5)), p99 = static_cast<double>(all_.at(0.99));
    double took = 0, others_took = 0;
    for (const auto& [cell, count] : fresh_.cells)
        (slow_.has(cell) ? took : others_took) +=
            static_cast<double>(middle_of_duration_cell(cell)) * static_cast<double>(count);
    const double added = took / slow - others_took / others,
                 not_seen = (took - slow_sampled_ns_) / slow - (others_took - others_sampled_ns_) / others;
    std::string text = clean_text(label_) + ": p99 " + time(p99);
    if (p50 > 0) text += ", " + times_text(p99 / p50);
    text += ": " + count_text(slow_count_) + (slow_count_ == 1 ? " slow one " : " slow ones ");
    if (has_waits_ && not_seen > added / 2) text += "had no CPU, or no samples, for +" + time(not_seen) + "; they ";
    if (const Spent* const spent = cause(); spent == nullptr) {
        text += "have too few samples to say more";
    } else {
        const bool waited = spent->wait_ns > spent->slow_ns / 2;
        text += (waited ? "wait +" : "run +") + time(spent->slow_ns / slow - spent->others_ns / others);
        // How long a wait was is known, how long something ran is drawn.
        if (!waited) text += " (±" + time(1.96 * std::sqrt(spent->variance) / slow) + ")";
        text += " in " + spent->name;
        if (waited) text += std::ranges::max_element(spent->why, {}, [](const auto& one) { return one.second; })->first;
    }
    text = without_unnamed(text) + "\n";
    text += words(true) + ": " + time(took / slow) + " in the mean by their own clock, " +
            time(slow_sampled_ns_ / slow) + " of it in samples";
    text += has_waits_ ? "; the rest they were preempted, or between samples\n"
                       : "; the rest they waited: --event cpu,offcpu would tell for what\n";
    if (all_.unseen + all_.coarse > 0)
        text += "of " + count_text(all_.count()) + " requests " + count_text(all_.unseen + all_.coarse) +
                " were counted only: their samples are on neither side\n";
    return text;
}

std::string refused_requests(const Arguments& arguments) {
    const bool chosen = !arguments.filter.requests.label.empty();
    if (!chosen && (arguments.slowest || arguments.between))
        return "--slowest and --between belong to --requests LABEL";
    if (!chosen) return {};
    if (arguments.inputs.size() != 1)
        return "--requests takes one input, whose slow requests are compared with the others";
    if (arguments.slowest && arguments.between) return "--slowest and --between are two choices: give one";
    if (arguments.slowest && !(*arguments.slowest > 0 && *arguments.slowest < 100))
        return "--slowest: give a percentage above 0 and below 100";
    if (arguments.between && arguments.between->first >= arguments.between->second)
        return "--between: the first time must be the shorter one";
    return {};
}

}  // namespace flameprobe
