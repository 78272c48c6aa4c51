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

#include "capture/record.hpp"

namespace flameprobe {
namespace {

constexpr auto none = ~std::uint64_t{0};

// A machine with many CPUs pays for every event at each thread creation: keep to the CPUs the host may run on. On a
// small one take all, since a host may widen its affinity later.
std::vector<int> cpus_to_sample() {
    // Files are read for it, and forked children need not read them again.
    static constinit std::atomic<long> known_online{0}, known_configured{0};
    if (known_configured == 0) {
        known_online = ::sysconf(_SC_NPROCESSORS_ONLN);
        known_configured = ::sysconf(_SC_NPROCESSORS_CONF);
    }
    const long online = known_online, configured = known_configured;
    cpu_set_t set;
    CPU_ZERO(&set);
    const bool masked = online > 16 && ::sched_getaffinity(::getpid(), sizeof set, &set) == 0;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < std::min<long>(configured, CPU_SETSIZE); ++cpu) {
        if (!masked || CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
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

std::size_t CpuRings::least_bytes(const perf_event_attr& attributes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t sample = attributes.sample_stack_user + 1024;
    return std::bit_ceil(std::max<std::size_t>(2 * sample, page));
}

Result<void> CpuRings::open(const CaptureOptions& options, perf_event_attr& attributes, std::uint32_t tid) {
    const auto cpus = cpus_to_sample();
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
        rings_.push_back({cpu, std::move(*event), std::move(*ring), {}});
    }
    if (rings_.empty()) return Error{"no CPU accepts the event"};
    return {};
}

bool CpuRings::add(perf_event_attr& attributes, std::uint32_t tid, int cpu) {
    auto event = open_event(attributes, tid, cpu);
    if (!event) return false;
    auto ring = RingBuffer::map(event->get(), bytes(), least_bytes(attributes));
    if (!ring || ::ioctl(event->get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return false;
    rings_.push_back({cpu, std::move(*event), std::move(*ring), {}});
    return true;
}

Result<void> CpuRings::add_event(perf_event_attr& attributes, std::uint32_t tid, std::uint32_t number,
                                 std::size_t wanted_bytes) {
    std::vector<CpuRing> added;
    for (const CpuRing& beside : rings_) {
        if (!beside.is_own() || beside.cpu < 0) continue;
        auto event = open_event(attributes, tid, beside.cpu);
        if (!event) return event.error();
        auto ring = RingBuffer::map(event->get(), wanted_bytes, least_bytes(attributes));
        if (!ring) return ring.error();
        added.push_back({beside.cpu, std::move(*event), std::move(*ring), {}, number == 0, number});
    }
    std::move(added.begin(), added.end(), std::back_inserter(rings_));
    return {};
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
