#include "render/run_facts.hpp"

#include <algorithm>

#include "base/paths.hpp"
#include "outside/counters.hpp"
#include "profile/task_event.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr std::string_view various = "various";  // of a merge (tools/render/merge_facts.cpp)

double as_double(std::uint64_t value) { return static_cast<double>(value); }

/// A number of samples, and their share of the time.
std::string of_samples(std::uint64_t hits, std::uint64_t weight, const Summary& summary) {
    return count_text(hits) + " (" + percent_text(as_double(weight), as_double(summary.samples)) + ")";
}

std::string sampled_bytes_text(const Summary& summary) {
    const auto mean = counter_value(summary.counters, counter::allocation_mean);
    return mean ? ", a sample every " + bytes_text(*mean) + " in the mean" : "";
}

/// What was allocated, exactly.
std::string allocated_text(const Summary& summary) {
    const auto bytes = counter_value(summary.counters, counter::allocated_bytes);
    const auto calls = counter_value(summary.counters, counter::allocations);
    return bytes && calls ? bytes_text(*bytes) + " in " + count_text(*calls) + " allocations" : "";
}

std::string sampling_text(const RunInfo& run, const Summary& summary) {
    std::string text = run.event;
    if (!run.event_kind.empty()) text += " (" + run.event_kind + ")";
    if (is_of_allocations(run.event)) return text + sampled_bytes_text(summary);
    if (run.frequency_asked == 0) return text + ", at different frequencies";
    text += ", " + count_text(run.frequency_asked) + " Hz asked";
    if (counts_passed_time(run)) return text;
    if (run.period_ns > 1) text += ", " + short_decimal(1e9 / as_double(run.period_ns), 1) + " Hz set";
    if (run.period_ns > 1 && summary.process_cpu_ns > 0) {
        const double reached = as_double(summary.hits) / (as_double(summary.process_cpu_ns) / 1e9);
        text += ", " + short_decimal(reached, 1) + " Hz reached per second of CPU time";
    }
    return text;
}

std::string how_text(const RunInfo& run) {
    std::string text = "engine " + run.engine;
    if (!run.engine_reason.empty() && run.engine_reason != various) text += " (" + run.engine_reason + ")";
    text += "; unwinder " + run.unwinder;
    if (run.stack_bytes > 0) text += ", " + bytes_text(run.stack_bytes) + " of stack a sample";
    if (!run.kernel.empty()) text += "; kernel " + run.kernel;
    return text;
}

/// Waiting time, which has weights in nanoseconds: the whole, and the rooted, truncated and lost parts.
std::string waiting_text(const Summary& summary) {
    const auto part = [&](std::uint64_t ns) {
        return duration_text(ns) + " (" + percent_text(as_double(ns), as_double(summary.samples)) + ")";
    };
    return duration_text(summary.samples) + "; rooted " + part(summary.rooted) + ", truncated " +
           part(summary.truncated) + ", lost " + duration_text(summary.lost);
}

std::string sampled_text(const Summary& summary, const RunInfo& run) {
    std::string text = count_text(summary.hits);
    if (counts_events(run) && summary.hits != summary.samples)
        text += " of " + count_text(summary.samples) + " " + run.event;
    text += "; rooted " + of_samples(rooted_hits_of(summary), summary.rooted, summary) + ", truncated " +
            of_samples(summary.truncated_hits, summary.truncated, summary) + ", lost " +
            (counts_bytes(run) ? bytes_text(summary.lost) : count_text(lost_samples(run, summary)));
    if (summary.throttled > 0) text += ", throttled " + count_text(summary.throttled) + " times";
    return text;
}

std::string coverage_text(const Summary& summary) {
    // By chance the samples may stand for a little more time than there was.
    const std::uint64_t used = summary.process_cpu_ns, of_it = std::min(summary.samples, used);
    return "sampled " + duration_text(summary.samples) + " of the process's " + duration_text(used) +
           " of CPU time: " + percent_text(as_double(of_it), as_double(used));
}

std::string cost_text(const Summary& summary) {
    std::string text = duration_text(summary.own_cpu_ns) + " of CPU time";
    if (summary.process_cpu_ns > 0) {
        text += " (" + percent_text(as_double(summary.own_cpu_ns), as_double(summary.process_cpu_ns)) +
                " of the process's)";
    }
    return text + ", " + bytes_text(summary.own_memory) + " of memory";
}

/// For a profile that was divided into several files (FLAMEPROBE_MAX_SIZE), and for merged ones of which one was.
std::string parts_text(const Summary& summary, bool merged) {
    const auto part = counter_value(summary.counters, counter::part);
    const auto given_up = counter_value(summary.counters, counter::given_up);
    std::string text;
    if (part) text = "this is part " + std::to_string(*part) + " of a profile that outgrew one file";
    if (given_up)
        text += (text.empty() ? "" : "; ") + std::string(merged ? "at least " : "") + count_text(*given_up) +
                " samples of the oldest parts were given up";
    return text;
}

std::string waits_text(const BlockedCall& call) {
    std::string text = call.call + " " + duration_text(call.ns);
    if (call.waits != 0) text += " in about " + count_text(call.waits) + (call.waits == 1 ? " wait" : " waits");
    std::string channels;
    for (const auto& [channel, ns] : call.channels) channels += (channels.empty() ? " (" : ", ") + channel;
    return text + channels + (channels.empty() ? "" : ")");
}

std::string never_woke_text(const Summary& summary) {
    const auto ns = counter_value(summary.counters, counter::never_woke);
    return ns ? duration_text(*ns) + " of threads that waited all the time (flameprobe-render --idle)" : "";
}

/// How long threads waited in which system call, the longest first.
std::string blocked_text(const Summary& summary) {
    constexpr std::size_t most = 8;
    const auto calls = blocked_calls(summary.counters);
    std::string text;
    for (std::size_t i = 0; i < std::min(calls.size(), most); ++i) text += (i == 0 ? "" : "; ") + waits_text(calls[i]);
    return text + (calls.size() > most ? "; and " + count_text(calls.size() - most) + " more system calls" : "");
}

/// Page faults, memory and context switches, as far as they are known.
std::string used_text(const Summary& summary) {
    std::string text;
    const auto add = [&](std::string_view name, std::string_view what, std::string (*told)(std::uint64_t) = nullptr) {
        const auto value = counter_value(summary.counters, name);
        if (!value || (*value == 0 && name.starts_with("off-CPU"))) return;
        text += (text.empty() ? "" : ", ") + (told != nullptr ? told(*value) : count_text(*value)) + " " +
                std::string(what);
    };
    add(counter::minor_faults, "minor page faults");
    add(counter::major_faults, "major page faults");
    add(counter::peak_memory, "peak memory", bytes_text);
    add(counter::waits, "context switches to wait");
    add(counter::preemptions, "context switches forced");
    return text;
}

/// Of what is alive at the end.
std::string age_text(const NamedProfile& profile) {
    Age age;
    std::uint64_t weight = 0;
    for (const NamedCount& count : profile.counts) {
        age.add(weight, count.age, count.weight);
        weight = add_saturated(weight, count.weight);
    }
    return "allocated " + duration_text(age.mean_ns) + " before the end in the mean, the oldest " +
           duration_text(age.oldest_ns);
}

}  // namespace

std::vector<Fact> run_facts(const NamedProfile& profile) {
    std::vector<Fact> facts;
    if (profile.has_run) {
        const RunInfo& run = profile.run;
        const Summary& summary = profile.summary;
        if (run.command != various) facts.push_back({"Command", run.command.empty() ? run.executable : run.command});
        facts.push_back(
            {"Run", "started " + utc_text(run.start_unix_ns) + " on " + run.host + ", " +
                        duration_text(summary.duration_ns) +
                        (!profile.processes.empty() ? ", " + profile.processes
                         : profile.merged_runs > 1  ? ", " + count_text(profile.merged_runs) + " runs"
                         : run.pid != 0             ? ", pid " + std::to_string(run.pid)
                                                    : ", several processes") +
                        (summary.complete ? "" : ", did not end in order: figures are the last that were written")});
        facts.push_back({"Event", sampling_text(run, summary)});
        facts.push_back({"Method", how_text(run)});
        facts.push_back({counts_passed_time(run) ? "Time" : "Samples",
                         counts_passed_time(run) ? waiting_text(summary) : sampled_text(summary, run)});
        if (!counts_passed_time(run) && run.period_ns > 0 && summary.process_cpu_ns > 0)
            facts.push_back({"Coverage", coverage_text(summary)});
        if (const auto allocated = allocated_text(summary); !allocated.empty())
            facts.push_back(
                {"Allocated", allocated + (profile.processes.empty() ? "" : ", in the processes that have samples")});
        if (profile.has_ages) facts.push_back({"Age", age_text(profile)});
        if (auto names = name_advice(profile); !names.empty()) facts.push_back({"Names", std::move(names)});
        if (auto used = used_text(summary); !used.empty()) facts.push_back({"Used", std::move(used)});
        if (auto blocked = blocked_text(summary); !blocked.empty()) facts.push_back({"Waits", std::move(blocked)});
        if (const auto hidden = counts_passed_time(run) ? never_woke_text(summary) : std::string(); !hidden.empty())
            facts.push_back({"Hidden", hidden});
        if (const auto locks = lock_table(profile); !locks.empty()) {
            constexpr std::size_t most = 8;
            for (std::size_t at = 0; at < std::min(locks.size(), most); ++at)
                facts.push_back({"Lock", lock_text(locks[at])});
            if (locks.size() > most) facts.push_back({"Lock", "and " + count_text(locks.size() - most) + " more"});
        }
        if (auto parts = parts_text(summary, profile.merged_runs > 1); !parts.empty()) {
            facts.push_back({"Rotation", std::move(parts)});
        }
        for (const auto& [name, value] : summary.counters) {
            if (name.starts_with(counter::note)) facts.push_back({"Note", name.substr(counter::note.size())});
        }
        facts.push_back({"FlameProbe", (run.version.empty() ? "" : run.version + ": ") + cost_text(summary)});
    }
    for (const std::string& warning : profile.warnings) facts.push_back({"Note", warning});
    return facts;
}

bool facts_need_names(const NamedProfile& profile) {
    return may_lack_names(profile) || std::ranges::any_of(profile.mappings, [](const Mapping& mapping) {
               return mapping.kind == MappingKind::note && is_holder_note(mapping.path);
           });
}

std::string default_title(const NamedProfile& profile) {
    if (!profile.has_run) return "Flame graph";
    const RunInfo& run = profile.run;
    const std::string of_what = run.event == event_name::offcpu     ? "Off-CPU"
                                : run.event == event_name::wall     ? "Wall-clock"
                                : run.event == event_name::tasks    ? "Task"
                                : run.event == event_name::alloc    ? "Allocation"
                                : run.event == event_name::heap     ? "Heap"
                                : run.event == event_name::heap_end ? "Heap-at-end"
                                : counts_events(run)                ? run.event
                                                                    : "CPU";
    if (!profile.processes.empty()) return of_what + " flame graph of " + profile.processes;
    const std::string name = program_name(run);
    if (profile.merged_runs <= 1 && run.pid != 0)
        return of_what + " flame graph of " + (name.empty() ? "pid " : name + ", pid ") + std::to_string(run.pid);
    const std::string_view file = base_name(run.executable);
    const bool one_program = !file.empty() && file != various;
    const std::string runs = profile.merged_runs > 1 ? count_text(profile.merged_runs) + " runs" : "several runs";
    return of_what + " flame graph of " +
           (name != various && !name.empty() ? name + ", "
            : one_program                    ? std::string(file) + ", "
                                             : "several programs, ") +
           runs;
}

std::string measured_text(const NamedProfile& profile, std::uint64_t weight) {
    std::string what = unit_text(profile, weight);
    if (what.empty()) return what;
    const std::string_view event = profile.run.event;
    const std::string_view of = event == event_name::wall       ? " of running and waiting"
                                : event == event_name::offcpu   ? " of waiting"
                                : event == event_name::tasks    ? " of tasks"
                                : event == event_name::alloc    ? " allocated"
                                : event == event_name::heap     ? " alive at the peak"
                                : event == event_name::heap_end ? " not freed"
                                : counts_events(profile.run)    ? ""
                                                                : " of CPU time";
    return what.append(of);
}

std::string default_subtitle(const NamedProfile& profile) {
    const std::uint64_t length = profile.summary.duration_ns;
    const std::string duration = profile.has_run && length > 0 ? " in " + duration_text(length) : "";
    const std::string samples = samples_text(total_hits(profile)), what = measured_text(profile, total_weight(profile));
    std::string deadlock;
    for (const std::string& sentence : deadlocks(profile.summary.counters)) deadlock += "; " + sentence;
    if (what.empty()) return samples + duration + deadlock;
    return what + duration + (counts_passed_time(profile.run) ? "" : ", " + samples) + deadlock;
}

}  // namespace flameprobe
