// The data that all later stages share: what was mapped, which code locations were seen, the trie of stacks, the
// threads and the samples. Plain data; ids are indices in the order of first appearance.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/paths.hpp"
#include "base/regular_file.hpp"
#include "profile/names.hpp"
#include "profile/request_records.hpp"

namespace flameprobe {

using MappingId = std::uint32_t;
using LocationId = std::uint32_t;
using StackId = std::uint32_t;   // 0 is the empty stack
using ThreadId = std::uint32_t;  // an index of ours, not a tid: tids are reused
using EventId = std::uint32_t;   // 0 is the run's own event

enum class MappingKind : std::uint8_t {
    unknown,    // an address where there is not even a file; Location::address is the address
    kernel,     // Location::address is a kernel address
    note,       // a frame of ours: Location::address is a Note
    scope,      // a FlameProbe::Scope: Location::address is an index into the profile's strings
    file,       // an ELF file mapped executable
    vdso,       // [vdso]
    anonymous,  // executable memory without a file: JIT code
};

/// Frames that say what could not be had. Shown in the picture with their weight.
enum class Note : std::uint64_t {
    truncated,             // the stack goes on towards the root, but could not be followed
    lost,                  // the kernel dropped samples: the ring was full
    kernel_not_permitted,  // CPU time in the kernel, which this user may not sample
    throttled,             // the kernel slowed the event down
    overflow,              // FlameProbe's own memory limit: the stack was not kept
};
/// Location::address of a note whose text is its mapping's path. Readers that do not know it show `[note 5]`.
inline constexpr std::uint64_t named_note = 5;
/// Named notes: before callers that were in live memory later than their sample, seen too seldom to be believed, and
/// for the levels of a recursion that are not known.
inline constexpr std::string_view read_later_note = "[callers read later]", recursion_text = "[recursion]";
/// Whether a note says who holds a lock that a thread waits for: its Location::address is the lock's, and the frames on
/// its leaf's side are the holder's.
constexpr bool is_holder_note(std::string_view text) { return text.starts_with("[held by "); }

/// The note as every output shows it; empty for a number that is no Note.
constexpr std::string_view note_text(Note note) {
    constexpr std::array<std::string_view, 5> texts = {"[truncated]", "[lost]", "[kernel, not permitted]",
                                                       "[throttled]", "[overflow]"};  // in the order of Note
    const auto number = static_cast<std::size_t>(note);
    return number < texts.size() ? texts[number] : std::string_view();
}

/// A stretch of address space that held one piece of code. An address that is mapped again gets a new Mapping, so code
/// that was unloaded keeps its right names, as far as the collector was told of it in time (capture/map_watch.hpp).
struct Mapping {
    MappingKind kind = MappingKind::unknown;
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    /// Nanoseconds after the run's start. In the file: when a stack first led into it, not when it was mapped.
    std::uint64_t since_ns = 0;
    std::string path;
    std::string build_id;  // raw bytes of the GNU build id, empty if none
    /// Of a file without a build id. Without size and time if no file at the path was the mapped one.
    FileIdentity file = {};
};

/// Whether a mapped file is a just-in-time compiler's dump (jit-PID.dump), by its name: it is mapped executable so that
/// profilers learn of it. No code lies in it: it is kept in a profile for the names that it has.
inline bool is_jit_dump(std::string_view path) {
    const std::string_view name = base_name(path);
    return name.starts_with("jit-") && name.ends_with(".dump");
}

/// One code address. Callers' return addresses are already moved back onto the call instruction (minus 1), so every
/// location can be looked up as it is (DWARF 5, section 6.4.4: a return address may lie in the next row).
struct Location {
    MappingId mapping = 0;
    std::uint64_t address = 0;  // as in the running process

    bool operator==(const Location&) const = default;
};

/// A stack is a path in a trie: this node's location, called from the parent's stack.
struct StackNode {
    StackId parent = 0;
    LocationId location = 0;
};

struct Thread {
    std::uint32_t tid = 0;
    std::string name;  // comm; a thread that was renamed has an entry for each name, all with its tid
};

/// One step of what a location stands for, stored in the profile so that no binary is needed to name it: the first is
/// the innermost. Name and file are ids of the profile's strings.
struct ArchivedSymbol {
    std::uint32_t name = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;       // being executed, or of the inlined call
    std::uint32_t decl_line = 0;  // where the function is declared
    bool inlined = false;         // into the next one
};

/// The fatal signal that ended the run, and the stack it hit.
struct Death {
    std::uint32_t signal = 0;
    std::uint32_t code = 0;  // si_code
    std::uint32_t tid = 0;
    std::uint64_t fault_address = 0;       // si_addr, 0 where the signal has none
    std::uint64_t time_ns = 0;             // after the run's start
    std::vector<std::uint64_t> addresses;  // leaf first; callers' already moved back onto the call instruction
};

/// `a + b`, or the largest number if that is beyond it: weights come from files that may be hostile.
constexpr std::uint64_t add_saturated(std::uint64_t a, std::uint64_t b) { return a > ~b ? ~std::uint64_t{0} : a + b; }

constexpr std::uint64_t multiply_saturated(std::uint64_t a, std::uint64_t b) {
    return b != 0 && a > ~std::uint64_t{0} / b ? ~std::uint64_t{0} : a * b;
}

/// What samples weigh together, and how many they are: see Sample.
struct Amount {
    std::uint64_t weight = 0, hits = 0;
    void add(const Amount& more) {
        weight = add_saturated(weight, more.weight);
        hits = add_saturated(hits, more.hits);
    }
};

struct Sample {
    std::uint64_t time_ns = 0;  // after the run's start
    ThreadId thread = 0;
    StackId stack = 0;  // the leaf's node
    /// Nanoseconds of CPU time, if the event is a clock, or of waiting; else events, or bytes.
    std::uint64_t weight = 1;
    /// Independent observations: 1 for a sample, however long it stands for; 0 for CPU time that is known without one
    /// (a note); more where a long run's samples were added up. Widths are weights, noise is counted in hits.
    std::uint64_t hits = 1;
    std::uint64_t age_ns = 0;  // of what was freed: how long it lived, in the mean; 0: not known
};

/// Units of work that the program has done since the last such record of that name (FlameProbe::count).
struct WorkCount {
    std::uint64_t time_ns = 0;  // after the run's start, when they were read: up to a tenth of a second late
    std::string name;
    std::uint64_t amount = 0;
};

/// What is known of the host at a time, beside samples. A new one is a type here, its number in format.hpp and its
/// fields in record_fields.hpp; then it is written, read and passed on. What becomes of it: RawProfile::keep().
using HostRecord = std::variant<Death, WorkCount, RequestTimes, Passing>;

/// What one thread used and how much of it was sampled: the proof of completeness.
struct ThreadAccount {
    ThreadId thread = 0;
    std::uint64_t cpu_ns = 0;   // by the thread's CPU clock, while sampling was on
    std::uint64_t samples = 0;  // sum of its samples' weights
};

/// Something that the figures depend on, for people and scripts: CPU, commit, compiler, ...
struct RunFact {
    std::string name;
    std::string value;
};

/// Known before the first sample.
struct RunInfo {
    std::string version;     // of FlameProbe
    std::string command;     // argv joined with spaces
    std::string executable;  // path
    std::string host;        // nodename and kernel release
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint64_t start_unix_ns = 0;
    std::string engine;         // ring, signal, timer, looks
    std::string engine_reason;  // why this engine: one sentence
    std::string unwinder;       // dwarf, fp
    std::string event;          // cpu-clock, ...
    std::string event_kind;     // software clock, software event, hardware counter
    std::string kernel;         // on, off (and why)
    std::uint64_t frequency_asked = 0;
    std::uint64_t period_ns = 0;    // CPU time for which a sample stands in the mean; 0 if the event is no clock; 1
                                    // where runs with different periods were merged
    std::uint32_t stack_bytes = 0;  // copied with each sample
    std::vector<RunFact> facts;     // in the order in which they are shown
    std::string shown;              // events that were asked for, with commas between; empty: the run's own
    std::vector<RunFact> labels;    // what the profile is filed under: FLAMEPROBE_LABELS; names are unique
    std::string place;  // machine and root directory in which its paths hold (base/proc.hpp); empty: not known
    std::uint64_t start_monotonic_ns = 0;  // the start by CLOCK_MONOTONIC, which dumps of code have; 0: not known
    std::string mark;  // what the processes of one run have in common (Family::mark); empty: not known
};

/// What else was sampled in the run, beside its own event.
struct EventInfo {
    std::string name;                   // offcpu, page-faults, ...
    std::string kind;                   // as RunInfo::event_kind
    std::uint64_t frequency_asked = 0;  // a second
    std::uint64_t period_ns = 0;        // 1: weights are nanoseconds; 0: the event is no time
};

/// The name as users type it: cpu for any clock of CPU time.
inline std::string short_event_name(const std::string& event) {
    return event == "cpu-clock" || event == "task-clock" ? std::string(event_name::cpu) : event;
}

/// Whether weights are, or include, time off the CPU: not to be compared with CPU clocks.
inline bool counts_waiting(const RunInfo& run) {
    return run.event == event_name::offcpu || run.event == event_name::wall;
}

/// Whether weights are bytes of memory.
inline bool counts_bytes(const RunInfo& run) {
    return run.event == event_name::alloc || run.event == event_name::heap || run.event == event_name::heap_end;
}

/// Whether weights are what is alive of what was allocated: bytes, or how many.
inline bool counts_living(const RunInfo& run) { return run.event.starts_with(event_name::heap); }

/// Whether weights count events such as page faults or allocations, rather than time or bytes.
inline bool counts_events(const RunInfo& run) {
    return (run.event_kind == "software event" || run.event_kind == event_kind::objects) && !counts_bytes(run);
}

/// Whether weights are nanoseconds.
inline bool weighs_nanoseconds(const RunInfo& run) { return run.period_ns != 0; }

/// Architecture of the machine that was sampled, as uname(2) calls it: x86_64, aarch64; empty if the profile lacks it.
inline std::string architecture(const RunInfo& run) {
    for (const RunFact& fact : run.facts) {
        const std::size_t space = fact.name == "kernel" ? fact.value.rfind(' ') : std::string::npos;
        if (space != std::string::npos && fact.value.starts_with("Linux ")) return fact.value.substr(space + 1);
    }
    return {};
}

/// Written repeatedly while sampling goes on; the last one counts, so a killed host still has a recent one.
struct Summary {
    bool complete = false;          // written at the end of the run
    std::uint64_t duration_ns = 0;  // while sampling was on
    std::uint64_t samples = 0;      // sum of weights of all samples with a stack
    std::uint64_t lost = 0;         // weight
    std::uint64_t truncated = 0;    // weight
    std::uint64_t rooted = 0;       // weight
    std::uint64_t throttled = 0;    // times
    std::uint64_t frames = 0;       // unwound in all
    std::uint64_t continued = 0;    // stacks followed into live memory and accepted
    std::uint64_t continuation_rejected = 0;
    std::uint64_t process_cpu_ns = 0;
    std::uint64_t own_cpu_ns = 0;  // the collector's
    std::uint64_t own_memory = 0;  // bytes
    std::vector<ThreadAccount> threads;
    std::map<std::string, std::uint64_t> counters;  // anything else worth telling, by name
    std::uint64_t hits = 0;                         // of all samples with a stack; see Sample
    std::uint64_t truncated_hits = 0;
    std::string title;  // the first of the process's arguments, over which it may have written what it is for
};

inline std::uint64_t rooted_hits_of(const Summary& summary) {
    return summary.hits - std::min(summary.hits, summary.truncated_hits);
}

/// How many samples were lost: of a clock, as many as the lost time has periods, or mean samples of merged runs.
inline std::uint64_t lost_samples(const RunInfo& run, const Summary& summary) {
    const bool merged = run.period_ns == 1 && summary.hits != 0;
    const std::uint64_t each = std::max<std::uint64_t>(merged ? summary.samples / summary.hits : run.period_ns, 1);
    return summary.lost / each + (summary.lost % each >= each - each / 2 ? 1 : 0);
}

// What a program is called.

/// As the user typed it: the base name of the command's first word. Not from the executable's path, which has links
/// resolved (redis-check-rdb for redis-server), except where the command has that path, maybe with spaces in it.
inline std::string program_name(const RunInfo& run) {
    const std::string first = run.command.substr(0, run.command.find(' '));
    std::string name(base_name(first.ends_with(':') ? first.substr(0, first.size() - 1) : first));
    if (name.starts_with('-')) name.erase(0, 1);  // a login shell
    const bool is_path = !run.executable.empty() && run.command.starts_with(run.executable);
    return name.empty() || is_path || is_dynamic_linker(name) ? std::string(base_name(run.executable)) : name;
}

}  // namespace flameprobe
