// perf_event_open(2): the attributes of our events, and opening them with the kernel's age and permissions in mind.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "capture/event_source.hpp"

namespace flameprobe {

/// As perf calls it, and as perf_event_open(2) does.
struct EventName {
    const char* name;
    std::uint32_t type;
    std::uint64_t config;
};

/// Those that can be sampled, and those that `flameprobe stat` counts.
inline constexpr EventName known_events[] = {
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

/// The attributes of options.event, for open_event(). An unknown name is an Error that lists the known ones.
Result<perf_event_attr> make_attributes(const CaptureOptions& options);

/// An event that gives no samples, but a record whenever a thread leaves or gets the CPU; for rings whose samples come
/// from an event of make_attributes().
perf_event_attr make_switch_attributes();

/// The event `name`, sampled beside `own` into rings of its own. A sample of a software event stands for
/// `sample_period` events; of a hardware counter there are about `frequency` samples a second. Errors as
/// make_attributes().
Result<perf_event_attr> make_more_attributes(const perf_event_attr& own, std::string_view name,
                                             std::uint64_t frequency);

bool is_clock(const perf_event_attr& attributes);
/// "software clock", "hardware counter" or "software event".
const char* kind_of(const perf_event_attr& attributes);

/// `asked`, or less where the kernel allows no more (perf_event_max_sample_rate, of which a twenty-fifth is room for
/// uneven_period()), at least 1. Above its limit it throttles (kernel/events/core.c, max_samples_per_tick), so nothing
/// is gained by asking.
std::uint64_t permitted_frequency(std::uint64_t asked);

/// `even` less 1.5 to 2.5 percent, in nanoseconds; another for each `seed`.
std::uint64_t uneven_period(std::uint64_t even, std::uint64_t seed);

/// Opens the event for `tid` on `cpu`. Clears attributes the kernel is too old for (counts of what is lost: 6.0) or
/// that are not permitted (the kernel: paranoid 2), for this and the following calls.
Result<Descriptor> open_event(perf_event_attr& attributes, std::uint32_t tid, int cpu);

/// For which an event is opened only to learn what is permitted. To open one for a thread interrupts the CPU that had
/// it last, so this is the caller (0), unless another process is watched.
std::uint32_t thread_for_trials();

/// As open_event(), but with no less than the attributes ask for, since the records would have another layout: an Error
/// then, with the reason in errno.
Result<Descriptor> open_alike(const perf_event_attr& attributes, std::uint32_t tid, int cpu);

/// Tries whether an event counts (event_trial.cpp): some can be opened without an error and never do.
/// If it is the hardware's, does what it counts, and looks; the kernel's own always count. An Error is one sentence
/// that says why not and which setting helps. Takes well under a millisecond. Needs a descriptor for the time.
Result<void> try_event(const CaptureOptions& options);

/// Whether there are still enough descriptors for files, now that `event` is open: each event of a thread that ran
/// before sampling began costs one, and RLIMIT_NOFILE holds for the collector's own table too.
bool leaves_descriptors(const Descriptor& event);

/// Whether the thread that the event was opened for has ended, and all that inherited it: then the event hangs up
/// (perf_event_open(2)).
bool has_hung_up(const Descriptor& event);

/// kernel.perf_event_paranoid in words.
std::string paranoid_text();
/// Why perf_event_open said no, and what mends it, in one sentence.
std::string explain_refusal(int error_number);

}  // namespace flameprobe
