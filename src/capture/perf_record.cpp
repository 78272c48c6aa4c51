#include "capture/perf_record.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/proc.hpp"
#include "cpu/registers.hpp"

namespace flameprobe {
namespace {

/// Reads forward; past the end everything is zero and `ok` is false.
class Fields {
public:
    explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
    T next() {
        T value{};
        const auto raw = take(sizeof(T));
        if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof(T));
        return value;
    }
    std::span<const std::byte> take(std::uint64_t size) {
        if (size > bytes_.size()) {
            ok = false;
            bytes_ = {};
            return {};
        }
        const auto taken = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return taken;
    }
    std::string_view text() {
        const auto* data = reinterpret_cast<const char*>(bytes_.data());
        const std::size_t length = ::strnlen(data, bytes_.size());
        return {data, length};
    }

    bool ok = true;

private:
    std::span<const std::byte> bytes_;
};

constexpr std::size_t id_suffix = 24;  // pid, tid, time, id: sample_id_all with our layout

template <class T>
T value_at(std::span<const std::byte> record, std::size_t at) {
    T value{};
    std::memcpy(&value, record.data() + at, sizeof value);
    return value;
}

std::uint64_t by_own_clock(std::uint64_t time_ns) {
    return time_ns + static_cast<std::uint64_t>(clock_lead_ns.load(std::memory_order_relaxed));
}

// Kernel addresses only; PERF_CONTEXT_* markers are the highest 4095 values.
std::span<const std::uint64_t> kernel_part(std::span<const std::byte> chain) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(chain.data());
    std::span<const std::uint64_t> all(words, chain.size() / 8);
    constexpr auto lowest_marker = static_cast<std::uint64_t>(PERF_CONTEXT_MAX);
    if (all.empty() || all[0] != static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL)) return {};
    all = all.subspan(1);
    const auto end = std::find_if(all.begin(), all.end(), [](std::uint64_t word) { return word >= lowest_marker; });
    return all.first(static_cast<std::size_t>(end - all.begin()));
}

RawSample read_sample(Fields& fields, const RecordLayout& layout) {
    RawSample sample;
    sample.pid = fields.next<std::uint32_t>();
    sample.tid = fields.next<std::uint32_t>();
    sample.time_ns = by_own_clock(fields.next<std::uint64_t>());
    fields.take(8);  // id
    sample.weight = layout.counts ? fields.next<std::uint64_t>() : layout.weight;
    if (layout.counts_lost) sample.lost_records = fields.next<std::uint64_t>();
    if (layout.kernel_chain) {
        const auto count = fields.next<std::uint64_t>();
        sample.kernel_chain = kernel_part(fields.take(std::min<std::uint64_t>(count, 1 << 16) * 8));
    }
    if (fields.next<std::uint64_t>() != PERF_SAMPLE_REGS_ABI_NONE) {
        sample.has_registers = true;
        for (const unsigned column : perf_to_dwarf) sample.registers.value[column] = fields.next<std::uint64_t>();
    }
    if (layout.stack) {
        const auto size = fields.next<std::uint64_t>();
        const auto copied = fields.take(size);
        if (size != 0) sample.stack = copied.first(std::min<std::uint64_t>(fields.next<std::uint64_t>(), size));
    }
    return sample;
}

std::optional<Record> read_mapping(Fields fields, std::uint16_t misc) {
    RawMapping mapping;
    fields.take(8);  // pid, tid
    mapping.start = fields.next<std::uint64_t>();
    mapping.size = fields.next<std::uint64_t>();
    mapping.file_offset = fields.next<std::uint64_t>();
    const auto identity = fields.take(24);
    fields.take(8);  // prot, flags
    if (!fields.ok) return std::nullopt;
    if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0) {
        const auto size = std::min<std::size_t>(static_cast<std::size_t>(identity[0]), 20);
        mapping.build_id = {reinterpret_cast<const char*>(identity.data()) + 4, size};
    } else {
        std::uint32_t major = 0, minor = 0;
        std::memcpy(&major, identity.data(), 4);
        std::memcpy(&minor, identity.data() + 4, 4);
        std::memcpy(&mapping.inode, identity.data() + 8, 8);
        mapping.device = makedev(major, minor);
    }
    mapping.path = fields.text();
    return mapping;
}

std::optional<Record> read_birth_or_end(Fields fields, bool is_end, std::uint64_t time) {
    const auto pid = fields.next<std::uint32_t>();
    const auto parent_pid = fields.next<std::uint32_t>();
    const auto tid = fields.next<std::uint32_t>();
    const auto parent = fields.next<std::uint32_t>();
    if (!fields.ok) return std::nullopt;
    if (is_end) return ThreadEnded{tid, time};
    if (pid == parent_pid) return ThreadStarted{tid, parent, time};
    return std::nullopt;  // a process
}

}  // namespace

std::uint64_t record_time(std::span<const std::byte> record, std::uint32_t type) {
    const std::size_t at = type == PERF_RECORD_SAMPLE ? sizeof(perf_event_header) + 8 : record.size() - 16;
    return record.size() < sizeof(perf_event_header) + id_suffix ? 0
                                                                 : by_own_clock(value_at<std::uint64_t>(record, at));
}

std::optional<Record> read_record(std::span<const std::byte> record, const RecordLayout& layout) {
    perf_event_header header;
    std::memcpy(&header, record.data(), sizeof header);
    Fields fields(record.subspan(sizeof header));
    if (header.type == PERF_RECORD_SAMPLE) {
        const RawSample sample = read_sample(fields, layout);
        if (!fields.ok) return std::nullopt;
        if (layout.event != 0) return EventSample{sample, layout.event};
        return TimeSample{sample};
    }
    if (record.size() < sizeof header + id_suffix) return std::nullopt;

    const std::uint64_t time = record_time(record, header.type);
    fields = Fields(record.first(record.size() - id_suffix).subspan(sizeof header));
    switch (header.type) {
        case PERF_RECORD_MMAP2:
            return read_mapping(fields, header.misc);
        case PERF_RECORD_COMM: {
            fields.take(4);
            const auto tid = fields.next<std::uint32_t>();
            return fields.ok ? std::optional<Record>(ThreadNamed{tid, fields.text()}) : std::nullopt;
        }
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT:
            return read_birth_or_end(fields, header.type == PERF_RECORD_EXIT, time);
        case PERF_RECORD_LOST:
            fields.take(8);  // id
            [[fallthrough]];
        case PERF_RECORD_LOST_SAMPLES: {
            const auto samples = fields.next<std::uint64_t>();
            return fields.ok ? std::optional<Record>(SamplesLost{samples * layout.weight, layout.event}) : std::nullopt;
        }
        case PERF_RECORD_SWITCH: {
            const auto tid = value_at<std::uint32_t>(record, record.size() - id_suffix + sizeof(std::uint32_t));
            return ThreadSwitched{time, tid, (header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0,
                                  (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
        }
        case PERF_RECORD_THROTTLE:
            return Throttled{layout.event};
        default:
            return std::nullopt;
    }
}

// The offsets that /proc tells are those of the namespace that children will have.
std::int64_t monotonic_lead_ns() {
    const std::string own = link_target("/proc/self/ns/time");
    constexpr const char* first = "time:[4026531834]";  // PROC_TIME_INIT_INO in the kernel's include/linux/proc_ns.h
    if (own.empty() || own == first || own != link_target("/proc/self/ns/time_for_children")) return 0;
    const auto offsets = read_small_file("/proc/self/timens_offsets");
    long long seconds = 0, nanoseconds = 0;
    if (!offsets || std::sscanf(offsets->c_str(), "monotonic %lld %lld", &seconds, &nanoseconds) != 2) return 0;
    return seconds * 1'000'000'000 + nanoseconds;
}

}  // namespace flameprobe
