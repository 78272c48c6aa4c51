#include <algorithm>
#include <map>

#include "base/paths.hpp"
#include "merge.hpp"
#include "outside/counters.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

bool same_period(const RunInfo& one, const RunInfo& other) {
    const auto [shorter, longer] = std::minmax(one.period_ns, other.period_ns);
    return longer - shorter <= longer * 3 / 100;
}

namespace {

void merge_text(std::string& into, const std::string& from) {
    if (into != from) into = "various";
}

template <class Number>
void merge_number(Number& into, Number from) {
    if (into != from) into = 0;
}

void warn_once(NamedProfile& into, const std::string& warning) {
    if (std::find(into.warnings.begin(), into.warnings.end(), warning) == into.warnings.end())
        into.warnings.push_back(warning);
}

void merge_run(NamedProfile& into, const NamedProfile& from_profile) {
    RunInfo& run = into.run;
    const RunInfo& from = from_profile.run;
    // Nanoseconds and page faults cannot be added.
    const bool a_clock = run.period_ns != 0 && from.period_ns != 0;
    if (!a_clock && run.event != from.event)
        warn_once(into, "the inputs are of different events: their samples count alike");
    else if (counts_waiting(run) != counts_waiting(from))
        warn_once(into, "the inputs are of different events: time of running and of waiting is added up");
    for (const auto field :
         {&RunInfo::version, &RunInfo::command, &RunInfo::executable, &RunInfo::host, &RunInfo::engine,
          &RunInfo::engine_reason, &RunInfo::unwinder, &RunInfo::event, &RunInfo::event_kind, &RunInfo::kernel}) {
        merge_text(run.*field, from.*field);
    }
    // Facts of the same name and order, as one program's runs have them.
    const auto same_name = [](const RunFact& a, const RunFact& b) { return a.name == b.name; };
    if (!std::equal(run.facts.begin(), run.facts.end(), from.facts.begin(), from.facts.end(), same_name))
        run.facts.clear();
    for (std::size_t i = 0; i < run.facts.size(); ++i) merge_text(run.facts[i].value, from.facts[i].value);
    // A label that they do not share is none of the whole.
    std::erase_if(run.labels, [&](const RunFact& label) {
        return std::none_of(from.labels.begin(), from.labels.end(), [&](const RunFact& other) {
            return other.name == label.name && other.value == label.value;
        });
    });
    if (run.place != from.place) run.place.clear();
    merge_number(run.pid, from.pid);
    merge_number(run.parent_pid, from.parent_pid);
    merge_number(run.frequency_asked, from.frequency_asked);
    if (!a_clock)
        run.period_ns = 0;
    else if (!same_period(run, from))
        run.period_ns = 1;
    merge_number(run.stack_bytes, from.stack_bytes);
}

/// From the first start to the last end.
void merge_time(NamedProfile& into, const NamedProfile& from) {
    const std::uint64_t start = std::min(into.run.start_unix_ns, from.run.start_unix_ns);
    const std::uint64_t end =
        std::max(into.run.start_unix_ns + into.summary.duration_ns, from.run.start_unix_ns + from.summary.duration_ns);
    into.run.start_unix_ns = start;
    into.summary.duration_ns = end - start;
}

void merge_accounts(Summary& into, const Summary& from, const std::vector<ThreadId>& threads) {
    std::map<ThreadId, ThreadAccount> by_thread;
    const auto add = [&by_thread](const ThreadAccount& account, ThreadId id) {
        ThreadAccount& sum = by_thread[id];
        sum.thread = id;
        sum.cpu_ns += account.cpu_ns;
        sum.samples += account.samples;
    };
    for (const ThreadAccount& account : into.threads) add(account, account.thread);
    for (const ThreadAccount& account : from.threads) add(account, threads[account.thread]);
    into.threads.clear();
    for (const auto& [id, account] : by_thread) into.threads.push_back(account);
}

/// One that was called by several names has that of its file.
void add_program(NamedProfile& into, const std::string& path, const std::string& name) {
    const auto [known, is_new] = into.programs.try_emplace(path, name);
    if (known->second != name) known->second = base_name(path);
}

void merge_programs(NamedProfile& into, const NamedProfile& from) {
    if (from.programs.empty() && !from.run.executable.empty())
        add_program(into, from.run.executable, program_name(from.run));
    for (const auto& [path, name] : from.programs) add_program(into, path, name);
}

void merge_counters(std::map<std::string, std::uint64_t>& into, const std::map<std::string, std::uint64_t>& from) {
    for (const auto& [name, value] : from) {
        std::uint64_t& known = into[name];
        const bool largest = name == counter::given_up || name == counter::peak_memory ||
                             name == counter::allocation_mean || is_longest_wait(name);
        known = largest ? std::max(known, value) : known + value;
    }
    into.erase(std::string(counter::part));
}

void merge_summary(Summary& into, const Summary& from, const std::vector<ThreadId>& threads) {
    into.complete = into.complete && from.complete;
    for (const auto field :
         {&Summary::samples, &Summary::lost, &Summary::truncated, &Summary::rooted, &Summary::throttled,
          &Summary::frames, &Summary::continued, &Summary::continuation_rejected, &Summary::process_cpu_ns,
          &Summary::own_cpu_ns, &Summary::own_memory, &Summary::hits, &Summary::truncated_hits}) {
        into.*field += from.*field;
    }
    merge_counters(into.counters, from.counters);
    merge_accounts(into, from, threads);
}

}  // namespace

void merge_facts(NamedProfile& into, const NamedProfile& from, const std::vector<ThreadId>& threads) {
    constexpr std::size_t most_warnings = 100;  // of a thousand files
    for (const std::string& warning : from.warnings) {
        if (into.warnings.size() < most_warnings) into.warnings.push_back(warning);
    }
    if (!from.has_run) return;
    if (!into.has_run) {
        into.has_run = true;
        into.run = from.run;
        into.summary = {};
        into.summary.complete = true;
        into.summary.duration_ns = from.summary.duration_ns;
    } else {
        merge_time(into, from);
        merge_run(into, from);
    }
    merge_summary(into.summary, from.summary, threads);
    merge_programs(into, from);
    for (const FileBuild& file : file_builds(from)) {
        if (std::find(into.merged_files.begin(), into.merged_files.end(), file) == into.merged_files.end())
            into.merged_files.push_back(file);
    }
    for (const auto& [name, amount] : from.work) into.work[name] = add_saturated(into.work[name], amount);
    for (const auto& [label, durations] : from.requests) into.requests[label].add(durations);
}

}  // namespace flameprobe
