#include "capture/perf_event.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/perf_record.hpp"
#include "cpu/registers.hpp"

namespace flameprobe {
namespace {

// What only samples of a clock carry.
constexpr auto of_a_clock = std::uint64_t{PERF_SAMPLE_READ};

// Counted things have no natural period: let the kernel steer towards the frequency, except for rare software events,
// each of which is worth a sample.
void set_rate(perf_event_attr& attr, std::uint64_t frequency) {
    if (is_clock(attr)) {
        attr.sample_period = 1'000'000'000 / frequency;  // on average: see ThreadClock
    } else if (attr.type == PERF_TYPE_HARDWARE) {
        attr.freq = 1;
        attr.sample_freq = frequency;
    } else {
        attr.sample_period = 1;
    }
}

const EventName* find_event(std::string_view name) {
    const auto* const found = std::find_if(std::begin(known_events), std::end(known_events),
                                           [&](const EventName& event) { return name == event.name; });
    return found == std::end(known_events) ? nullptr : found;
}

Error unknown_event(std::string_view name) {
    return Error{"unknown event '" + std::string(name) + "': accepted are " + event_names()};
}

// For how many events a sample stands. A sample of each event would cost more than what is counted: some hundreds of
// page faults take as long as one sample. A prime, so that work in step with it is not always sampled at one place. The
// kernel is not asked for a frequency: the period that it then reports is not what has elapsed. With bursts between
// pauses it is seven times as much. Where faults come quickly it reaches millions with the sixth sample: the next
// period (perf_swevent_set_period()) stands in the place of the one that __perf_event_account_interrupt() times.
std::uint64_t events_per_sample(std::uint64_t config, std::uint64_t frequency) {
    const bool faults = config == PERF_COUNT_SW_PAGE_FAULTS || config == PERF_COUNT_SW_PAGE_FAULTS_MIN;
    const std::uint64_t per_second = faults ? 100'000 : 10'000;
    std::uint64_t number = per_second / std::max<std::uint64_t>(1, frequency) + 1;
    const auto is_prime = [](std::uint64_t of) {
        for (std::uint64_t by = 2; by * by <= of; ++by)
            if (of % by == 0) return false;
        return true;
    };
    while (!is_prime(number)) ++number;
    return number;
}

/// Attributes that are the same for all events whose records come through rings.
perf_event_attr event_for_rings(std::uint32_t type, std::uint64_t config) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = type;
    attr.config = config;
    attr.exclude_hv = 1;
    attr.disabled = 1;
    attr.remove_on_exec = 1;  // Linux 5.13: the collector may outlive the image that it knows
    attr.sample_id_all = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = 1;
    return attr;
}

// Threads that have ended are refused too, by the thousand: nothing is read for these.
std::string explain_no_permission() {
    const auto paranoid = read_sysctl("/proc/sys/kernel/perf_event_paranoid");
    if (paranoid && *paranoid > 2) {
        return "perf_event_open is refused: kernel.perf_event_paranoid is " + paranoid_text() +
               " (2 or less is needed: sysctl kernel.perf_event_paranoid=2)";
    }
    return "perf_event_open is refused by a security policy (seccomp, as in Docker's default profile; "
           "kernel.perf_event_paranoid is " +
           paranoid_text() + "): docker run --cap-add PERFMON allows it";
}

}  // namespace

bool is_clock(const perf_event_attr& attributes) {
    return attributes.type == PERF_TYPE_SOFTWARE && attributes.config <= PERF_COUNT_SW_TASK_CLOCK;
}

const char* kind_of(const perf_event_attr& attributes) {
    if (is_clock(attributes)) return "software clock";
    return attributes.type == PERF_TYPE_HARDWARE ? "hardware counter" : "software event";
}

std::uint64_t permitted_frequency(std::uint64_t asked) {
    const auto limit = read_sysctl("/proc/sys/kernel/perf_event_max_sample_rate");
    const auto most = limit && *limit > 0 ? static_cast<std::uint64_t>(*limit) * 24 / 25 : asked;
    return std::max<std::uint64_t>(std::min(asked, most), 1);
}

// A program that repeats something with the very period asked for (a hundred times a second is usual) would be sampled
// at the same place each time. So where a period stays, it is drawn at random, 1.5 to 2.5 % shorter: 40 to 67 samples
// then pass once through what the program repeats, and shares are right from then on.
std::uint64_t uneven_period(std::uint64_t even, std::uint64_t seed) {
    const std::uint64_t least = even * 15 / 1000, most = even * 25 / 1000;
    return even - least - splitmix64(seed) % (most - least + 1);
}

std::string event_names() {
    std::string names;
    for (const auto& known : known_events) names += (names.empty() ? "" : ", ") + std::string(known.name);
    return names;
}

bool is_event_name(std::string_view name) { return find_event(name) != nullptr; }

Result<perf_event_attr> make_attributes(const CaptureOptions& options) {
    const EventName* const event = find_event(options.event);
    if (event == nullptr) return unknown_event(options.event);
    perf_event_attr attr = event_for_rings(event->type, event->config);
    set_rate(attr, std::max<std::uint64_t>(1, options.frequency));
    attr.sample_type = sample_layout | (is_clock(attr) ? of_a_clock : 0);
    attr.read_format = is_clock(attr) ? PERF_FORMAT_LOST : 0;
    if (options.stack_bytes != 0) {
        attr.sample_type |= PERF_SAMPLE_STACK_USER;
        attr.sample_stack_user = options.stack_bytes;
    }
    attr.sample_regs_user = sampled_registers;
    attr.exclude_callchain_user = 1;
    if (options.kernel) attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    attr.exclude_kernel = options.kernel ? 0 : 1;
    attr.mmap = 1;  // without it, mmap2 records of executable memory are not written
    attr.mmap2 = 1;
    attr.build_id = 1;
    attr.comm = 1;
    attr.task = 1;
    return attr;
}

// The kernel is excluded so that the event is permitted wherever the sampling event is; its records stay the same.
perf_event_attr make_switch_attributes() {
    perf_event_attr attr = event_for_rings(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attr.sample_type = sample_layout & ~static_cast<std::uint64_t>(PERF_SAMPLE_REGS_USER);
    attr.context_switch = 1;
    attr.exclude_kernel = 1;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;  // the thread's CPU time: see ThreadRings::cpu_ns()
    return attr;
}

// At most 16 KiB of stack: the stacks at these events are seldom deep, and a burst of samples needs room.
Result<perf_event_attr> make_more_attributes(const perf_event_attr& own, std::string_view name,
                                             std::uint64_t frequency) {
    constexpr std::uint32_t most_stack_bytes = 16 * 1024;
    const EventName* const event = find_event(name);
    if (event == nullptr) return unknown_event(name);
    perf_event_attr attr = own;
    attr.type = event->type;
    attr.config = event->config;
    attr.freq = 0;
    if (attr.type == PERF_TYPE_SOFTWARE) {
        attr.sample_period = events_per_sample(event->config, frequency);
    } else {
        set_rate(attr, std::max<std::uint64_t>(1, frequency));
    }
    attr.sample_type &= ~of_a_clock;
    attr.sample_stack_user = std::min(attr.sample_stack_user, most_stack_bytes);
    attr.mmap = attr.mmap2 = attr.build_id = attr.comm = attr.task = 0;  // these records are in the rings of `own`
    return attr;
}

Result<Descriptor> open_event(perf_event_attr& attr, std::uint32_t tid, int cpu) {
    for (;;) {
        const long fd = ::syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd >= 0) return Descriptor(static_cast<int>(fd));
        if ((errno == EACCES || errno == EPERM) && attr.exclude_kernel == 0) {
            attr.exclude_kernel = 1;
            attr.sample_type &= ~std::uint64_t{PERF_SAMPLE_CALLCHAIN};
        } else if (errno == EINVAL && attr.read_format == PERF_FORMAT_LOST) {
            attr.read_format = 0;
        } else {
            const int why = errno;
            Error error{explain_refusal(why)};
            errno = why;  // callers tell an offline CPU (ENODEV) from a refusal
            return error;
        }
    }
}

std::uint32_t thread_for_trials() { return is_watched_from_outside() ? static_cast<std::uint32_t>(host_process()) : 0; }

Result<Descriptor> open_alike(const perf_event_attr& attributes, std::uint32_t tid, int cpu) {
    perf_event_attr attr = attributes;
    auto event = open_event(attr, tid, cpu);
    if (!event || (attr.sample_type == attributes.sample_type && attr.exclude_kernel == attributes.exclude_kernel))
        return event;
    Error error{explain_refusal(EACCES)};
    event = error;
    errno = EACCES;
    return event;
}

bool leaves_descriptors(const Descriptor& event) {
    constexpr rlim_t for_files = 64;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    return static_cast<rlim_t>(event.get()) + for_files < limit.rlim_cur;
}

bool has_hung_up(const Descriptor& event) {
    pollfd watched{event.get(), 0, 0};
    return ::poll(&watched, 1, 0) > 0 && (watched.revents & POLLHUP) != 0;
}

std::string paranoid_text() {
    const auto paranoid = read_sysctl("/proc/sys/kernel/perf_event_paranoid");
    return paranoid ? std::to_string(*paranoid) : "unknown";
}

std::string explain_refusal(int error_number) {
    switch (error_number) {
        case EACCES:
        case EPERM:
            return explain_no_permission();
        case ENOSYS:
            return "perf_event_open is refused: this kernel or sandbox does not have the system call";
        case ENOENT:
        case EOPNOTSUPP:
            return "this machine does not have the event (virtual machines often lack hardware counters): cpu-clock "
                   "works";
        case EMFILE:
            return "perf_event_open failed: the limit of open files leaves no descriptor (ulimit -n raises it)";
        case ENFILE:
            return "perf_event_open failed: too many open files in the system";
        case EINVAL:
        case E2BIG:  // sig_data, at the end of the attributes, is a newer kernel's
            return "perf_event_open does not know these attributes: Linux 5.13 or later is needed";
        default:
            return "perf_event_open failed: " + error_text(error_number);
    }
}

}  // namespace flameprobe
