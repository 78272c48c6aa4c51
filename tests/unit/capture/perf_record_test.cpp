#include "capture/perf_record.hpp"

#include <doctest/doctest.h>
#include <linux/perf_event.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "cpu_facts.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// A record put together as the kernel does (perf_event_open(2)).
class Bytes {
public:
    Bytes(std::uint32_t type, std::uint16_t misc = 0) { put(perf_event_header{type, misc, 0}); }
    template <class T>
    Bytes& put(const T& value) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + sizeof value);
        std::memcpy(bytes_.data() + at, &value, sizeof value);
        return *this;
    }
    Bytes& text(const std::string& value) {
        for (const char c : value) put(c);
        put('\0');
        while (bytes_.size() % 8 != 0) put('\0');
        return *this;
    }
    Bytes& identity(std::uint32_t tid, std::uint64_t time) {
        return put(std::uint32_t{1}).put(tid).put(time).put(std::uint64_t{77});
    }
    std::span<const std::byte> done() {
        const auto size = static_cast<std::uint16_t>(bytes_.size());
        std::memcpy(bytes_.data() + offsetof(perf_event_header, size), &size, sizeof size);
        return bytes_;
    }

private:
    std::vector<std::byte> bytes_;
};

template <class Kind>
Kind read(Bytes& bytes, const RecordLayout& layout = {}) {
    const auto record = read_record(bytes.done(), layout);
    REQUIRE(record.has_value());
    REQUIRE(std::holds_alternative<Kind>(*record));
    return std::get<Kind>(*record);
}

}  // namespace

TEST_CASE("a sample's fields are read where the layout has them") {
    Bytes record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    record.put(std::uint32_t{7}).put(std::uint32_t{8}).put(std::uint64_t{99}).put(std::uint64_t{1234});
    record.put(std::uint64_t{4}).put(static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL));
    record.put(std::uint64_t{0xffffffff81000001}).put(std::uint64_t{0xffffffff81000002});
    record.put(static_cast<std::uint64_t>(PERF_CONTEXT_USER));
    record.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
    for (std::uint64_t reg = 0; reg < Registers::count; ++reg) record.put(reg + 100);
    record.put(std::uint64_t{16}).put(std::uint64_t{1}).put(std::uint64_t{2}).put(std::uint64_t{8});

    CHECK(record_time(record.done(), PERF_RECORD_SAMPLE) == 99);
    const auto raw = read<TimeSample>(record, {.kernel_chain = true, .stack = true});
    CHECK(raw.pid == 7);
    CHECK(raw.tid == 8);
    CHECK(raw.time_ns == 99);
    REQUIRE(raw.kernel_chain.size() == 2);
    CHECK(raw.kernel_chain[1] == 0xffffffff81000002);
    CHECK(raw.has_registers);
    CHECK(raw.registers.value[0] == 100);
    CHECK(raw.registers.value[test::dwarf_other] == 100 + test::perf_other);
    CHECK(raw.registers.fp() == 100 + test::perf_fp);
    CHECK(raw.registers.sp() == 100 + test::perf_sp);
    CHECK(raw.registers.pc() == 100 + test::perf_pc);
    CHECK(raw.stack.size() == 8);  // as much as was valid, not as was reserved
}

TEST_CASE("a sample carries what its event has counted and, where the kernel tells, what found no room") {
    Bytes record(PERF_RECORD_SAMPLE);
    record.put(std::uint32_t{7}).put(std::uint32_t{8}).put(std::uint64_t{99}).put(std::uint64_t{1234});
    record.put(std::uint64_t{5000}).put(std::uint64_t{3}).put(std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE});
    const auto raw = read<TimeSample>(record, {.counts = true, .counts_lost = true});
    CHECK(raw.weight == 5000);
    CHECK(raw.lost_records == 3);
    CHECK_FALSE(raw.has_registers);
}

TEST_CASE("mappings come with a build id or with the file's identity") {
    const auto start = [](Bytes& record) -> Bytes& {
        return record.put(std::uint32_t{1})
            .put(std::uint32_t{2})
            .put(std::uint64_t{0x1000})
            .put(std::uint64_t{0x2000})
            .put(std::uint64_t{0x3000});
    };
    Bytes with_id(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    start(with_id).put(std::uint32_t{20});
    for (char c = 'a'; c < 'a' + 20; ++c) with_id.put(c);
    with_id.put(std::uint64_t{0}).text("/usr/lib/libfoo.so").identity(2, 5);
    const auto of_id = read<RawMapping>(with_id);
    CHECK(of_id.path == "/usr/lib/libfoo.so");
    CHECK(of_id.build_id == "abcdefghijklmnopqrst");
    CHECK(of_id.file_offset == 0x3000);

    Bytes with_file(PERF_RECORD_MMAP2);
    start(with_file).put(std::uint32_t{8}).put(std::uint32_t{1}).put(std::uint64_t{4711}).put(std::uint64_t{0});
    with_file.put(std::uint64_t{0}).text("/bin/x").identity(2, 6);
    const auto of_file = read<RawMapping>(with_file);
    CHECK(of_file.build_id.empty());
    CHECK(of_file.device == makedev(8, 1));
    CHECK(of_file.inode == 4711);
    CHECK(record_time(with_file.done(), PERF_RECORD_MMAP2) == 6);
}

TEST_CASE("records of lost samples, names and ends are read") {
    Bytes lost(PERF_RECORD_LOST);
    lost.put(std::uint64_t{1}).put(std::uint64_t{12}).identity(3, 1);
    CHECK(read<SamplesLost>(lost).weight == 12);
    CHECK(read<SamplesLost>(lost, {.weight = 1000}).weight == 12'000);
    Bytes name(PERF_RECORD_COMM);
    name.put(std::uint32_t{1}).put(std::uint32_t{33}).text("worker").identity(33, 2);
    CHECK(read<ThreadNamed>(name).tid == 33);
    CHECK(read<ThreadNamed>(name).name == "worker");
    Bytes end(PERF_RECORD_EXIT);
    end.put(std::uint32_t{1})
        .put(std::uint32_t{1})
        .put(std::uint32_t{33})
        .put(std::uint32_t{2})
        .put(std::uint64_t{9})
        .identity(33, 3);
    CHECK(read<ThreadEnded>(end).tid == 33);
    CHECK(read<ThreadEnded>(end).time_ns == 3);
}

TEST_CASE("a switch tells whether the thread could have gone on") {
    for (const std::uint16_t misc :
         {PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, PERF_RECORD_MISC_SWITCH_OUT, 0}) {
        Bytes record(PERF_RECORD_SWITCH, misc);
        const auto switched = read<ThreadSwitched>(record.identity(33, 5));
        CHECK(switched.tid == 33);
        CHECK(switched.time_ns == 5);
        CHECK(switched.out == (misc != 0));
        CHECK(switched.preempted == (misc > PERF_RECORD_MISC_SWITCH_OUT));
    }
}

TEST_CASE("a record that is cut short anywhere is refused") {
    Bytes record(PERF_RECORD_SAMPLE);
    record.put(std::uint32_t{7})
        .put(std::uint32_t{8})
        .put(std::uint64_t{99})
        .put(std::uint64_t{1234})
        .put(~std::uint64_t{0});
    for (int word = 0; word < 40; ++word) record.put(~std::uint64_t{0});
    const auto whole = record.done();
    for (std::size_t size = sizeof(perf_event_header); size <= whole.size(); ++size) {
        const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_FALSE(read_record(part, {.kernel_chain = true, .stack = true}).has_value());
    }
}

TEST_CASE("a forked process is not reported as a thread") {
    for (const std::uint32_t pid : {7u, 9u}) {
        Bytes record(PERF_RECORD_FORK);
        record.put(pid).put(std::uint32_t{7}).put(std::uint32_t{9}).put(std::uint32_t{7}).put(std::uint64_t{5});
        const auto read = read_record(record.identity(9, 5).done(), {});
        REQUIRE(read.has_value() == (pid == 7));
        if (!read) continue;
        const auto& thread = std::get<ThreadStarted>(*read);
        CHECK(thread.tid == 9);
        CHECK(thread.parent_tid == 7);
    }
}

TEST_CASE("a sample of another event has that event's weight, and its lost samples are no CPU time") {
    const RecordLayout layout{.event = 2, .weight = 1234};
    Bytes sample(PERF_RECORD_SAMPLE);
    sample.put(std::uint32_t{7}).put(std::uint32_t{8}).put(std::uint64_t{99}).put(std::uint64_t{1234});
    sample.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE});
    const auto raw = read<EventSample>(sample, layout);
    CHECK(raw.event == 2);
    CHECK(raw.tid == 8);
    CHECK(raw.weight == 1234);
    Bytes lost(PERF_RECORD_LOST);
    lost.put(std::uint64_t{1}).put(std::uint64_t{5}).identity(8, 100);
    CHECK(read<SamplesLost>(lost, layout).event == 2);
    CHECK(read<SamplesLost>(lost, layout).weight == 5 * 1234);
    Bytes throttle(PERF_RECORD_THROTTLE);
    throttle.put(std::uint64_t{1}).put(std::uint64_t{1}).put(std::uint64_t{1}).identity(8, 100);
    CHECK(read<Throttled>(throttle, layout).event == 2);
    CHECK(read<Throttled>(throttle).event == 0);
}

TEST_CASE("where samples carry counts, the count is the weight") {
    Bytes record(PERF_RECORD_SAMPLE);
    record.identity(2, 99).put(std::uint64_t{4000}).put(std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE});
    CHECK(read<TimeSample>(record, {.counts = true, .weight = 1000}).weight == 4000);
}
