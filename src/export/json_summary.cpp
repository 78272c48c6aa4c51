// What was measured and how, for scripts. docs/formats.md describes every member; new ones may be added, none renamed
// without a new "format" number. "samples" is how often one was taken; what they stand for is in nanoseconds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "export/json_stream.hpp"
#include "export/output.hpp"
#include "export/text.hpp"
#include "outside/counters.hpp"
#include "profile/task_event.hpp"
#include "render/answer.hpp"
#include "render/function_totals.hpp"
#include "render/request_rows.hpp"
#include "render/run_facts.hpp"

namespace flameprobe {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_functions = 1000;

double ratio(std::uint64_t part, std::uint64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

/// null where `whole` is 0: neither 0 nor 1 would be right.
Json share(std::uint64_t part, std::uint64_t whole) { return whole == 0 ? Json() : Json(ratio(part, whole)); }

template <class Number>
Json if_known(const std::optional<Number>& value) {
    return value ? Json(*value) : Json();
}

/// What samples stand for: time, or the number of events that are no clock. null where that is not known.
void add_weight(Json& to, const std::string& name, const NamedProfile& profile, std::uint64_t weight) {
    const bool events = counts_events(profile.run), bytes = counts_bytes(profile.run);
    const bool known = events || bytes || weighs_nanoseconds(profile.run);
    to[name + (bytes ? "_bytes" : events ? "_events" : "_ns")] = known ? Json(weight) : Json();
}

Json named_values(const std::vector<RunFact>& facts) {
    Json all = Json::object();
    for (const RunFact& fact : facts) all[fact.name] = fact.value;
    return all;
}

Json run(const NamedProfile& profile) {
    const RunInfo& run = profile.run;
    return {{"command", run.command},
            {"executable", run.executable},
            {"host", run.host},
            {"pid", run.pid},
            {"parent_pid", run.parent_pid},
            {"start_unix_ns", run.start_unix_ns},
            {"duration_ns", profile.summary.duration_ns},
            {"complete", profile.summary.complete},
            {"flameprobe_version", run.version},
            {"facts", named_values(run.facts)},
            {"labels", named_values(run.labels)}};
}

Json sampling(const NamedProfile& profile) {
    const RunInfo& run = profile.run;
    std::optional<double> set, reached;  // the latter for each second of the process's CPU time
    if (run.period_ns > 1) set = 1e9 / static_cast<double>(run.period_ns);
    if (set && profile.summary.process_cpu_ns != 0)
        reached = 1e9 * ratio(profile.summary.hits, profile.summary.process_cpu_ns);
    return {{"event", run.event},
            {"event_kind", run.event_kind},
            {"frequency_asked_hz", run.frequency_asked},
            {"frequency_set_hz", if_known(set)},
            {"frequency_reached_hz", if_known(reached)},
            {"period_ns", run.period_ns},
            {"engine", run.engine},
            {"engine_reason", run.engine_reason},
            {"unwinder", run.unwinder},
            {"kernel", run.kernel},
            {"stack_bytes", run.stack_bytes}};
}

Json samples(const NamedProfile& profile) {
    const Summary& summary = profile.summary;
    Json all = {{"taken", summary.hits},
                {"rooted", rooted_hits_of(summary)},
                {"truncated", summary.truncated_hits},
                {"lost", lost_samples(profile.run, summary)}};
    add_weight(all, "rooted", profile, summary.rooted);
    all["rooted_share"] = share(summary.rooted, summary.samples);
    add_weight(all, "truncated", profile, summary.truncated);
    add_weight(all, "lost", profile, summary.lost);
    all["throttled"] = summary.throttled;
    all["frames"] = summary.frames;
    all["continued"] = summary.continued;
    all["continuation_rejected"] = summary.continuation_rejected;
    return all;
}

Json cpu_time(const NamedProfile& profile) {
    const Summary& summary = profile.summary;
    const bool is_time = weighs_nanoseconds(profile.run);
    const std::uint64_t sampled = is_time ? summary.samples : 0;
    return {{"process_ns", summary.process_cpu_ns},
            {"sampled_ns", sampled},
            {"sampled_share", share(sampled, is_time ? summary.process_cpu_ns : 0)},
            {"flameprobe_ns", summary.own_cpu_ns},
            {"flameprobe_share", share(summary.own_cpu_ns, summary.process_cpu_ns)},
            {"flameprobe_memory_bytes", summary.own_memory}};
}

/// The samples of one thread, and its weights without samples.
struct ThreadTotal {
    std::uint64_t hits = 0;
    std::uint64_t lost = 0, not_permitted = 0, throttled = 0;
};

/// By ThreadId.
std::vector<ThreadTotal> thread_totals(const NamedProfile& profile) {
    std::vector<ThreadTotal> totals(profile.threads.size());
    for (const NamedCount& count : profile.counts) {
        if (count.thread >= totals.size()) continue;
        ThreadTotal& total = totals[count.thread];
        total.hits = add_saturated(total.hits, count.hits);
        if (count.node == 0 || profile.function(count.node).kind != FrameKind::note) continue;
        const std::string_view name = profile.name(profile.nodes[count.node].frame);
        for (const auto& [note, sum] :
             {std::pair(Note::lost, &total.lost), std::pair(Note::kernel_not_permitted, &total.not_permitted),
              std::pair(Note::throttled, &total.throttled)})
            if (name == note_text(note)) *sum = add_saturated(*sum, count.weight);
    }
    return totals;
}

Json threads(const NamedProfile& profile) {
    const std::uint64_t time = weighs_nanoseconds(profile.run) ? 1 : 0;  // other weights are no time
    const auto shown = thread_totals(profile);
    Json all = Json::array();
    for (const ThreadAccount& account : profile.summary.threads) {
        const Thread thread = account.thread < profile.threads.size() ? profile.threads[account.thread] : Thread{};
        const ThreadTotal total = account.thread < shown.size() ? shown[account.thread] : ThreadTotal{};
        Json row = {{"tid", thread.tid},
                    {"name", one_line(thread.name)},
                    {"cpu_ns", account.cpu_ns},
                    {"samples", total.hits},
                    {"sampled_ns", account.samples * time},
                    {"lost_ns", total.lost * time},
                    {"not_permitted_ns", total.not_permitted * time},
                    {"throttled_ns", total.throttled * time}};
        const std::uint64_t told_ns = (account.samples + total.lost + total.not_permitted + total.throttled) * time;
        if (!counts_passed_time(profile.run)) row["unsampled_ns"] = account.cpu_ns - std::min(account.cpu_ns, told_ns);
        row["sampled_share"] = share(account.samples * time, account.cpu_ns * time);
        all.push_back(std::move(row));
    }
    return all;
}

/// Waiting time of all threads, by system call.
Json blocked(const std::vector<BlockedCall>& calls) {
    Json all = Json::array();
    for (const BlockedCall& call : calls)
        all.push_back({{"call", call.call},
                       {"ns", call.ns},
                       {"waits", call.waits != 0 ? Json(call.waits) : Json()},
                       {"kernel_ns", Json(call.channels)}});
    return all;
}

/// Locks whose holders are known, the longest waited for first.
Json locks(const std::vector<LockRow>& rows) {
    Json all = Json::array();
    for (const LockRow& row : rows) {
        Json holders = Json::array();
        for (const HolderStack& holder : row.holders) {
            Json stack = Json::array();
            for (const std::string& frame : holder.frames) stack.push_back(one_line(frame));
            holders.push_back({{"thread", one_line(holder.holder)}, {"ns", holder.ns}, {"stack", std::move(stack)}});
        }
        all.push_back({{"lock", one_line(row.lock)},
                       {"waited_ns", row.waited_ns},
                       {"waits", if_known(row.waits)},
                       {"longest_ns", if_known(row.longest_ns)},
                       {"holders", std::move(holders)}});
    }
    return all;
}

Json work(const NamedProfile& profile) {
    Json all = Json::array();
    for (const auto& [name, amount] : profile.work)
        all.push_back({{"name", one_line(name)},
                       {"count", amount},
                       {"sampled_ns_per_unit", if_known(sampled_ns_per_unit(profile, amount))}});
    return all;
}

Json requests(const NamedProfile& profile) {
    Json all = Json::array();
    for (const RequestRow& row : request_rows(profile))
        all.push_back({{"label", one_line(row.label)},
                       {"count", row.count},
                       {"failed", row.failed},
                       {"mean_ns", row.mean_ns},
                       {"p50_ns", row.p50_ns},
                       {"p90_ns", row.p90_ns},
                       {"p99_ns", row.p99_ns},
                       {"p999_ns", row.p999_ns},
                       {"longest_ns", row.longest_ns},
                       {"not_seen_one_by_one", row.unseen}});
    return all;
}

void add_stacks(Json& to, const NamedProfile& profile, const Totals& totals) {
    to["stack_samples"] = total_hits(profile);
    add_weight(to, "stack", profile, totals.samples);
}

void add_functions(Json& to, const NamedProfile& profile, const Totals& totals) {
    struct Row {
        FunctionTotal total;
        std::string name;
    };
    std::vector<Row> rows;
    for (const FunctionTotal& total : totals.functions) rows.push_back({total, display_name(profile, total.function)});
    std::ranges::sort(rows, [](const Row& a, const Row& b) {
        return std::tie(b.total.self, b.total.total, a.name) < std::tie(a.total.self, a.total.total, b.name);
    });
    to["function_count"] = rows.size();
    rows.resize(std::min(rows.size(), most_functions));
    Json& all = to["functions"] = Json::array();
    for (const auto& [total, name] : rows) {
        const Function& function = profile.functions[total.function];
        Json row = {{"name", name},
                    {"module", one_line(profile.strings.view(function.module))},
                    {"file", one_line(profile.strings.view(function.file))},
                    {"line", function.line},
                    {"self", total.self_hits},
                    {"self_share", share(total.self, totals.samples)}};
        add_weight(row, "self", profile, total.self);
        row["total"] = total.total_hits;
        row["total_share"] = share(total.total, totals.samples);
        add_weight(row, "total", profile, total.total);
        if (profile.has_ages) {
            row["mean_age_ns"] = total.age.mean_ns;
            row["oldest_age_ns"] = total.age.oldest_ns;
        }
        all.push_back(std::move(row));
    }
}

Json other_event(const NamedProfile& event) {
    const Totals totals = function_totals(event);
    Json all = {{"event", event.run.event},
                {"event_kind", event.run.event_kind},
                {"frequency_asked_hz", event.run.frequency_asked},
                {"period_ns", event.run.period_ns}};
    add_stacks(all, event, totals);
    add_weight(all, "lost", event, event.summary.lost);
    add_weight(all, "truncated", event, event.summary.truncated);
    add_functions(all, event, totals);
    return all;
}

}  // namespace

void write_json(const NamedProfile& profile, const ByteSink& out) {
    const Totals totals = function_totals(profile);
    Json all = {
        {"format", "flameprobe-summary"}, {"format_version", 2}, {"written_by", "FlameProbe " FLAMEPROBE_VERSION}};
    add_stacks(all, profile, totals);
    all["answers"] = Json::array();
    for (const Answer& one : answers(profile))
        all["answers"].push_back({{"event", one.event}, {"sentence", one.sentence}});
    for (const WaitReason& one : wait_reasons(profile))
        all["waits"].push_back({{"ns", one.ns}, {"share", one.share}, {"sentence", one.sentence}});
    if (profile.has_run) {
        all["run"] = run(profile);
        all["sampling"] = sampling(profile);
        all["samples"] = samples(profile);
        all["cpu_time"] = cpu_time(profile);
        all["threads"] = threads(profile);
        all["counters"] = Json(profile.summary.counters);
        if (const auto calls = blocked_calls(profile.summary.counters); !calls.empty()) all["blocked"] = blocked(calls);
        if (const auto rows = lock_table(profile); !rows.empty()) all["locks"] = locks(rows);
        all["work"] = work(profile);
        all["requests"] = requests(profile);
    }
    add_functions(all, profile, totals);
    for (const NamedProfile& event : profile.others) all["other_events"].push_back(other_event(event));
    all["warnings"] = profile.warnings;
    out(json_document(all));
}

}  // namespace flameprobe
