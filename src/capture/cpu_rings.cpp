#include "capture/cpu_rings.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/record.hpp"

namespace flameprobe {
namespace {

constexpr auto none = ~std::uint64_t{0};

struct MachineCpus {
    long online, configured;
};

// Remembered, since sysconf reads files for it: forked children need not read them again.
MachineCpus machine_cpus(bool again) {
    static constinit std::atomic<long> online{0}, configured{0};
    if (configured == 0 || again) {
        online = ::sysconf(_SC_NPROCESSORS_ONLN);
        configured = ::sysconf(_SC_NPROCESSORS_CONF);
    }
    return {online, configured};
}

// A machine with many CPUs pays for every event at each thread creation: keep to the CPUs the host's threads may run
// on. On a small one take all, since a host may widen its affinity later.
std::vector<int> cpus_to_sample(const MachineCpus& machine, std::size_t small_machine) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    bool masked = false;
    if (machine.online > static_cast<long>(small_machine)) {
        auto threads = list_other_threads();
        if (threads.empty()) threads.push_back(static_cast<std::uint32_t>(host_process()));
        for (const std::uint32_t thread : threads) {
            cpu_set_t its;
            CPU_ZERO(&its);
            if (::sched_getaffinity(static_cast<pid_t>(thread), sizeof its, &its) != 0) continue;
            CPU_OR(&allowed, &allowed, &its);
            masked = true;
        }
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < std::min<long>(machine.configured, CPU_SETSIZE); ++cpu) {
        if (!masked || CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
    }
    return cpus;
}

// Room for 60 ms of samples on every CPU, within 8 MiB for all of them: the collector comes every 15 ms.
std::size_t ring_bytes(const CaptureOptions& options, std::size_t cpus) {
    const std::uint64_t wanted = options.frequency * (options.stack_bytes + 512ULL) * 6 / 100;
    const std::uint64_t share = std::max<std::uint64_t>((8ULL << 20) / cpus, 256 << 10);
    return std::bit_floor(std::clamp<std::uint64_t>(std::bit_ceil(wanted), 256 << 10, share));
}

std::uint64_t time_of_next(RingBuffer& ring) {
    const auto record = ring.peek();
    if (record.empty()) return none;
    return record_time(record, reinterpret_cast<const perf_event_header*>(record.data())->type);
}

}  // namespace

Result<Descriptor> open_beside(const perf_event_attr& attributes, std::uint32_t tid, const CpuRing& ring) {
    auto event = open_alike(attributes, tid, ring.cpu);
    if (event && ::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, ring.event.get()) != 0)
        return Error{"its records cannot go into another's ring"};
    return event;
}

std::size_t CpuRings::least_bytes(const perf_event_attr& attributes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t sample = attributes.sample_stack_user + 1024;
    return std::bit_ceil(std::max<std::size_t>(2 * sample, page));
}

Result<void> CpuRings::open(const CaptureOptions& options, perf_event_attr& attributes, std::uint32_t tid) {
    small_machine_ = options.small_machine;
    const auto cpus = cpus_to_sample(machine_cpus(false), small_machine_);
    wanted_bytes_ = ring_bytes(options, cpus.size());
    // An ordinary user's locked memory is no more than one such ring for each CPU (perf_event_mlock_kb).
    if (!options.more_events.empty()) wanted_bytes_ = std::max(wanted_bytes_ / 2, least_bytes(attributes));
    attributes.wakeup_watermark = static_cast<std::uint32_t>(wanted_bytes_);  // not polled: the collector has a timer
    for (const int cpu : cpus) {
        auto event = open_event(attributes, tid, cpu);
        if (!event) {
            if (errno == ENODEV) continue;  // this CPU is offline
            return event.error();
        }
        auto ring = RingBuffer::map(event->get(), wanted_bytes_, least_bytes(attributes));
        if (!ring) return ring.error();
        rings_.push_back({cpu, attributes, std::move(*event), std::move(*ring), {}});
    }
    if (rings_.empty()) return Error{"no CPU accepts the event"};
    return {};
}

std::vector<int> CpuRings::missing_cpus() const {
    auto cpus = cpus_to_sample(machine_cpus(true), small_machine_);
    std::erase_if(cpus, [this](int cpu) {
        return std::any_of(rings_.begin(), rings_.end(), [cpu](const CpuRing& ring) { return ring.cpu == cpu; });
    });
    return cpus;
}

Result<void> CpuRings::add(const perf_event_attr& attributes, std::uint32_t tid, int cpu, std::uint32_t number) {
    auto event = open_alike(attributes, tid, cpu);
    if (!event) return event.error();
    auto ring = RingBuffer::map(event->get(), bytes(), least_bytes(attributes));
    const bool enabled = ring && ::ioctl(event->get(), PERF_EVENT_IOC_ENABLE, 0) == 0;
    if (!enabled) {
        Error error = ring ? Error{"the perf event cannot be enabled"} : ring.error();
        errno = 0;
        return error;
    }
    rings_.push_back({cpu, attributes, std::move(*event), std::move(*ring), {}, false, number});
    return {};
}

Result<void> CpuRings::add_event(perf_event_attr& attributes, std::uint32_t tid, std::uint32_t number,
                                 std::size_t wanted_bytes) {
    std::vector<CpuRing> added;
    for (const CpuRing& beside : rings_) {
        if (!beside.is_own() || beside.cpu < 0) continue;
        auto event = open_event(attributes, tid, beside.cpu);
        if (!event) return event.error();
        auto ring = wanted_bytes == 0 ? Result<RingBuffer>(RingBuffer())
                                      : RingBuffer::map(event->get(), wanted_bytes, least_bytes(attributes));
        if (!ring) return ring.error();
        added.push_back({beside.cpu, attributes, std::move(*event), std::move(*ring), {}, number == 0, number});
    }
    std::move(added.begin(), added.end(), std::back_inserter(rings_));
    return {};
}

void CpuRings::map_page_faults(std::size_t wanted_bytes) {
    for (CpuRing& ring : rings_) {
        if (!ring.of_page_faults) continue;
        auto mapped = RingBuffer::map(ring.event.get(), wanted_bytes, least_bytes(ring.attributes));
        if (!mapped) {
            drop_page_faults();
            return;
        }
        ring.ring = std::move(*mapped);
    }
}

std::size_t CpuRings::all_bytes() const {
    std::size_t bytes = 0;
    for (const CpuRing& ring : rings_) bytes += ring.ring.data_bytes();
    return bytes;
}

std::size_t CpuRings::drop_page_faults() {
    std::size_t bytes = 0;
    for (const CpuRing& ring : rings_) bytes += ring.of_page_faults ? ring.ring.data_bytes() : 0;
    std::erase_if(rings_, [](const CpuRing& ring) { return ring.of_page_faults; });
    return bytes;
}

void CpuRings::begin_round() {
    next_time_.clear();
    for (auto& cpu : rings_) {
        cpu.ring.begin_round();
        next_time_.push_back(time_of_next(cpu.ring));
    }
}

CpuRing* CpuRings::oldest() {
    const auto oldest = std::min_element(next_time_.begin(), next_time_.end());
    return *oldest == none ? nullptr : &rings_[static_cast<std::size_t>(oldest - next_time_.begin())];
}

void CpuRings::consume(CpuRing& oldest) {
    oldest.ring.consume();
    next_time_[static_cast<std::size_t>(&oldest - rings_.data())] = time_of_next(oldest.ring);
}

}  // namespace flameprobe
