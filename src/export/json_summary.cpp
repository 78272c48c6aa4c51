// What was measured and how, for scripts. docs/formats.md describes every member; new ones may be added, none renamed
// without a new "format" number. "samples" is how often one was taken; what they stand for is in nanoseconds.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "export/json_stream.hpp"
#include "export/output.hpp"
#include "export/text.hpp"
#include "export/totals.hpp"
#include "outside/counters.hpp"
#include "render/lock_table.hpp"
#include "render/run_facts.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t most_functions = 1000;

double ratio(std::uint64_t part, std::uint64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

class SummaryWriter {
public:
    SummaryWriter(const NamedProfile& profile, const ByteSink& out) : profile_(profile), json_(out) {}

    void write() {
        const Totals totals = function_totals(profile_);
        json_.begin_object();
        json_.key("format").text("flameprobe-summary").key("format_version").number(2);
        json_.key("written_by").text("FlameProbe " FLAMEPROBE_VERSION);
        stacks(profile_, totals);
        if (profile_.has_run) {
            run();
            sampling();
            samples();
            cpu_time();
            threads();
            counters();
            blocked();
            locks();
            work();
        }
        functions(profile_, totals);
        if (!profile_.others.empty())
            json_.key("other_events").array(profile_.others, [this](const NamedProfile& event) { other_event(event); });
        json_.key("warnings").array(profile_.warnings, [this](const std::string& text) { json_.text(text); });
        json_.end_object();
        json_.finish();
    }

private:
    void text(const char* key, const std::string& value) { json_.key(key).text(value); }
    void number(const char* key, std::uint64_t value) { json_.key(key).number(value); }
    /// What samples stand for: time, or the number of events that are no clock. null where that is not known.
    void weight(const char* name, const NamedProfile& profile, std::uint64_t weight) {
        const bool events = counts_events(profile.run), bytes = counts_bytes(profile.run);
        json_.key(std::string(name) + (bytes ? "_bytes" : events ? "_events" : "_ns"));
        events || bytes || weighs_nanoseconds(profile.run) ? json_.number(weight) : json_.null();
    }
    /// null where `whole` is 0: neither 0 nor 1 would be right.
    void share(const char* key, std::uint64_t part, std::uint64_t whole) {
        json_.key(key);
        whole == 0 ? json_.null() : json_.real(ratio(part, whole));
    }

    void run();
    void sampling();
    void samples();
    void cpu_time();
    void threads();
    void counters();
    void blocked();
    void locks();
    void work();
    void stacks(const NamedProfile& profile, const Totals& totals);
    void functions(const NamedProfile& profile, const Totals& totals);
    void other_event(const NamedProfile& event);

    const NamedProfile& profile_;
    JsonStream json_;
};

void SummaryWriter::run() {
    const RunInfo& run = profile_.run;
    json_.key("run").begin_object();
    text("command", run.command);
    text("executable", run.executable);
    text("host", run.host);
    number("pid", run.pid);
    number("parent_pid", run.parent_pid);
    number("start_unix_ns", run.start_unix_ns);
    number("duration_ns", profile_.summary.duration_ns);
    json_.key("complete").boolean(profile_.summary.complete);
    text("flameprobe_version", run.version);
    json_.key("facts").begin_object();
    for (const RunFact& fact : run.facts) text(fact.name.c_str(), fact.value);
    json_.end_object();
    json_.key("labels").begin_object();
    for (const RunFact& label : run.labels) text(label.name.c_str(), label.value);
    json_.end_object();
    json_.end_object();
}

void SummaryWriter::sampling() {
    const RunInfo& run = profile_.run;
    json_.key("sampling").begin_object();
    text("event", run.event);
    text("event_kind", run.event_kind);
    number("frequency_asked_hz", run.frequency_asked);
    std::optional<double> set, reached;  // the latter for each second of the process's CPU time
    if (run.period_ns > 1) set = 1e9 / static_cast<double>(run.period_ns);
    if (set && profile_.summary.process_cpu_ns != 0)
        reached = 1e9 * ratio(profile_.summary.hits, profile_.summary.process_cpu_ns);
    json_.key("frequency_set_hz").real_if(set).key("frequency_reached_hz").real_if(reached);
    number("period_ns", run.period_ns);
    text("engine", run.engine);
    text("engine_reason", run.engine_reason);
    text("unwinder", run.unwinder);
    text("kernel", run.kernel);
    number("stack_bytes", run.stack_bytes);
    json_.end_object();
}

void SummaryWriter::samples() {
    const Summary& summary = profile_.summary;
    json_.key("samples").begin_object();
    number("taken", summary.hits);
    number("rooted", rooted_hits_of(summary));
    number("truncated", summary.truncated_hits);
    number("lost", lost_samples(profile_.run, summary));
    weight("rooted", profile_, summary.rooted);
    share("rooted_share", summary.rooted, summary.samples);
    weight("truncated", profile_, summary.truncated);
    weight("lost", profile_, summary.lost);
    number("throttled", summary.throttled);
    number("frames", summary.frames);
    number("continued", summary.continued);
    number("continuation_rejected", summary.continuation_rejected);
    json_.end_object();
}

void SummaryWriter::cpu_time() {
    const Summary& summary = profile_.summary;
    const bool is_time = weighs_nanoseconds(profile_.run);
    const std::uint64_t sampled = is_time ? summary.samples : 0;
    json_.key("cpu_time").begin_object();
    number("process_ns", summary.process_cpu_ns);
    number("sampled_ns", sampled);
    share("sampled_share", sampled, is_time ? summary.process_cpu_ns : 0);
    number("flameprobe_ns", summary.own_cpu_ns);
    share("flameprobe_share", summary.own_cpu_ns, summary.process_cpu_ns);
    number("flameprobe_memory_bytes", summary.own_memory);
    json_.end_object();
}

void SummaryWriter::threads() {
    const std::uint64_t time = weighs_nanoseconds(profile_.run) ? 1 : 0;  // other weights are no time
    const auto shown = thread_totals(profile_);
    json_.key("threads").array(profile_.summary.threads, [&](const ThreadAccount& account) {
        const bool known = account.thread < profile_.threads.size();
        const ThreadTotal total = account.thread < shown.size() ? shown[account.thread] : ThreadTotal{};
        json_.begin_object();
        number("tid", known ? profile_.threads[account.thread].tid : 0);
        text("name", known ? one_line(profile_.threads[account.thread].name) : "");
        number("cpu_ns", account.cpu_ns);
        number("samples", total.hits);
        number("sampled_ns", account.samples * time);
        number("lost_ns", total.lost * time);
        number("not_permitted_ns", total.not_permitted * time);
        number("throttled_ns", total.throttled * time);
        const std::uint64_t told_ns = (account.samples + total.noted()) * time;
        if (!counts_waiting(profile_.run)) number("unsampled_ns", account.cpu_ns - std::min(account.cpu_ns, told_ns));
        share("sampled_share", account.samples * time, account.cpu_ns * time);
        json_.end_object();
    });
}

void SummaryWriter::counters() {
    json_.key("counters").begin_object();
    for (const auto& [name, value] : profile_.summary.counters) number(name.c_str(), value);
    json_.end_object();
}

/// Waiting time of all threads, by system call.
void SummaryWriter::blocked() {
    const auto calls = blocked_calls(profile_.summary.counters);
    if (calls.empty()) return;
    json_.key("blocked").array(calls, [&](const BlockedCall& call) {
        json_.begin_object();
        text("call", call.call);
        number("ns", call.ns);
        json_.key("waits").number_unless_0(call.waits);
        json_.key("kernel_ns").begin_object();
        for (const auto& [channel, ns] : call.channels) number(channel.c_str(), ns);
        json_.end_object();
        json_.end_object();
    });
}

/// Locks whose holders are known, the longest waited for first.
void SummaryWriter::locks() {
    const auto rows = lock_table(profile_);
    if (rows.empty()) return;
    json_.key("locks").array(rows, [&](const LockRow& row) {
        json_.begin_object();
        text("lock", one_line(row.lock));
        number("waited_ns", row.waited_ns);
        json_.key("waits").number_if(row.waits).key("longest_ns").number_if(row.longest_ns);
        json_.key("holders").array(row.holders, [&](const HolderStack& holder) {
            json_.begin_object();
            text("thread", one_line(holder.holder));
            number("ns", holder.ns);
            json_.key("stack").array(holder.frames, [&](const std::string& frame) { json_.text(one_line(frame)); });
            json_.end_object();
        });
        json_.end_object();
    });
}

void SummaryWriter::work() {
    json_.key("work").begin_array();
    for (const auto& [name, amount] : profile_.work) {
        json_.begin_object();
        text("name", one_line(name));
        number("count", amount);
        json_.key("sampled_ns_per_unit").real_if(sampled_ns_per_unit(profile_, amount));
        json_.end_object();
    }
    json_.end_array();
}

void SummaryWriter::stacks(const NamedProfile& profile, const Totals& totals) {
    number("stack_samples", total_hits(profile));
    weight("stack", profile, totals.samples);
}

void SummaryWriter::functions(const NamedProfile& profile, const Totals& totals) {
    struct Row {
        FunctionTotal total;
        std::string name;
    };
    std::vector<Row> rows;
    for (const FunctionTotal& total : totals.functions) rows.push_back({total, display_name(profile, total.function)});
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        if (a.total.self != b.total.self) return a.total.self > b.total.self;
        if (a.total.total != b.total.total) return a.total.total > b.total.total;
        return a.name < b.name;
    });
    number("function_count", rows.size());
    rows.resize(std::min(rows.size(), most_functions));
    json_.key("functions").array(rows, [&](const Row& row) {
        const Function& function = profile.functions[row.total.function];
        json_.begin_object();
        text("name", row.name);
        text("module", one_line(profile.strings.view(function.module)));
        text("file", one_line(profile.strings.view(function.file)));
        number("line", function.line);
        number("self", row.total.self_hits);
        share("self_share", row.total.self, totals.samples);
        weight("self", profile, row.total.self);
        number("total", row.total.total_hits);
        share("total_share", row.total.total, totals.samples);
        weight("total", profile, row.total.total);
        if (profile.has_ages) {
            number("mean_age_ns", row.total.age.mean_ns);
            number("oldest_age_ns", row.total.age.oldest_ns);
        }
        json_.end_object();
    });
}

void SummaryWriter::other_event(const NamedProfile& event) {
    const Totals totals = function_totals(event);
    json_.begin_object();
    text("event", event.run.event);
    text("event_kind", event.run.event_kind);
    number("frequency_asked_hz", event.run.frequency_asked);
    number("period_ns", event.run.period_ns);
    stacks(event, totals);
    weight("lost", event, event.summary.lost);
    weight("truncated", event, event.summary.truncated);
    functions(event, totals);
    json_.end_object();
}

}  // namespace

void write_json(const NamedProfile& profile, const ByteSink& out) { SummaryWriter(profile, out).write(); }

}  // namespace flameprobe
