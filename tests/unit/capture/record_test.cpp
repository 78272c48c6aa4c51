#include "capture/record.hpp"

#include <doctest/doctest.h>
#include <sys/sysmacros.h>

#include <string>

#include "collected.hpp"
#include "cpu_facts.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// A record put together as the kernel does (perf_event_open(2)).
class Record {
public:
    Record(std::uint32_t type, std::uint16_t misc = 0) { put(perf_event_header{type, misc, 0}); }
    template <class T>
    Record& put(const T& value) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + sizeof value);
        std::memcpy(bytes_.data() + at, &value, sizeof value);
        return *this;
    }
    Record& text(const std::string& value) {
        for (const char c : value) put(c);
        put('\0');
        while (bytes_.size() % 8 != 0) put('\0');
        return *this;
    }
    Record& identity(std::uint32_t tid, std::uint64_t time) {
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

}  // namespace

TEST_CASE("a sample's fields are read where the layout has them") {
    Record record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    record.put(std::uint32_t{7}).put(std::uint32_t{8}).put(std::uint64_t{99}).put(std::uint64_t{1234});
    record.put(std::uint64_t{4}).put(static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL));
    record.put(std::uint64_t{0xffffffff81000001}).put(std::uint64_t{0xffffffff81000002});
    record.put(static_cast<std::uint64_t>(PERF_CONTEXT_USER));
    record.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
    for (std::uint64_t reg = 0; reg < Registers::count; ++reg) record.put(reg + 100);
    record.put(std::uint64_t{16}).put(std::uint64_t{1}).put(std::uint64_t{2}).put(std::uint64_t{8});

    struct Sink final : EventSink {
        void sample(const RawSample& raw) override {
            ++samples;
            CHECK(raw.pid == 7);
            CHECK(raw.tid == 8);
            CHECK(raw.time_ns == 99);
            CHECK(raw.in_kernel);
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
        void mapping(const RawMapping&) override {}
        void thread_name(std::uint32_t, std::string_view) override {}
        void thread_started(std::uint32_t, std::uint32_t, std::uint64_t) override {}
        void thread_ended(std::uint32_t, std::uint64_t) override {}
        void lost(std::uint64_t) override {}
        void throttled(std::uint64_t) override {}
        int samples = 0;
    } sink;
    CHECK(record_time(record.done(), PERF_RECORD_SAMPLE) == 99);
    CHECK(born_thread(record.done()) == 0);
    CHECK(ended_thread(record.done()) == 0);
    CHECK(dispatch_record(record.done(), {.kernel_chain = true, .stack = true}, sink));
    CHECK(sink.samples == 1);
}

TEST_CASE("mappings come with a build id or with the file's identity") {
    struct Sink final : Seen {
        void mapping(const RawMapping& raw) override {
            path = raw.path;
            build_id = raw.build_id;
            device = raw.device;
            inode = raw.inode;
            offset = raw.file_offset;
        }
        std::string path, build_id;
        std::uint64_t device = 0, inode = 0, offset = 0;
    } sink;
    const auto start = [](Record& record) -> Record& {
        return record.put(std::uint32_t{1})
            .put(std::uint32_t{2})
            .put(std::uint64_t{0x1000})
            .put(std::uint64_t{0x2000})
            .put(std::uint64_t{0x3000});
    };
    Record with_id(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    start(with_id).put(std::uint32_t{20});
    for (char c = 'a'; c < 'a' + 20; ++c) with_id.put(c);
    with_id.put(std::uint64_t{0}).text("/usr/lib/libfoo.so").identity(2, 5);
    CHECK(dispatch_record(with_id.done(), {}, sink));
    CHECK(sink.path == "/usr/lib/libfoo.so");
    CHECK(sink.build_id == "abcdefghijklmnopqrst");
    CHECK(sink.offset == 0x3000);

    Record with_file(PERF_RECORD_MMAP2);
    start(with_file).put(std::uint32_t{8}).put(std::uint32_t{1}).put(std::uint64_t{4711}).put(std::uint64_t{0});
    with_file.put(std::uint64_t{0}).text("/bin/x").identity(2, 6);
    CHECK(dispatch_record(with_file.done(), {}, sink));
    CHECK(sink.build_id.empty());
    CHECK(sink.device == makedev(8, 1));
    CHECK(sink.inode == 4711);
    CHECK(record_time(with_file.done(), PERF_RECORD_MMAP2) == 6);
}

TEST_CASE("records of lost samples, names and ends are dispatched") {
    Seen seen;
    Record lost(PERF_RECORD_LOST);
    lost.put(std::uint64_t{1}).put(std::uint64_t{12}).identity(3, 1);
    CHECK(dispatch_record(lost.done(), {}, seen));
    CHECK(seen.lost_ns == 12);
    Record name(PERF_RECORD_COMM);
    name.put(std::uint32_t{1}).put(std::uint32_t{33}).text("worker").identity(33, 2);
    CHECK(dispatch_record(name.done(), {}, seen));
    CHECK(seen.names[33] == "worker");
    Record end(PERF_RECORD_EXIT);
    end.put(std::uint32_t{1})
        .put(std::uint32_t{1})
        .put(std::uint32_t{33})
        .put(std::uint32_t{2})
        .put(std::uint64_t{9})
        .identity(33, 3);
    CHECK(dispatch_record(end.done(), {}, seen));
    CHECK(seen.ended[33] == 1);
}

TEST_CASE("a record that is cut short anywhere is refused") {
    Record record(PERF_RECORD_SAMPLE);
    record.put(std::uint32_t{7})
        .put(std::uint32_t{8})
        .put(std::uint64_t{99})
        .put(std::uint64_t{1234})
        .put(~std::uint64_t{0});
    for (int word = 0; word < 40; ++word) record.put(~std::uint64_t{0});
    const auto whole = record.done();
    Seen seen;
    for (std::size_t size = sizeof(perf_event_header); size <= whole.size(); ++size) {
        const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_FALSE(dispatch_record(part, {.kernel_chain = true, .stack = true}, seen));
    }
    CHECK(seen.samples.empty());
}

TEST_CASE("a forked process is not reported as a thread") {
    Seen sink;
    for (const std::uint32_t pid : {7u, 9u}) {
        Record record(PERF_RECORD_FORK);
        record.put(pid).put(std::uint32_t{7}).put(std::uint32_t{9}).put(std::uint32_t{7}).put(std::uint64_t{5});
        CHECK(dispatch_record(record.identity(9, 5).done(), {}, sink));
        CHECK(born_thread(record.done()) == (pid == 7 ? 9 : 0));
        CHECK(ended_thread(record.done()) == 0);
    }
    CHECK(sink.started == std::map<std::uint32_t, int>{{9, 1}});
}

TEST_CASE("a sample of another event has that event's weight, and its lost samples are no CPU time") {
    struct Sink final : EventSink {
        void sample(const RawSample& raw) override {
            event = raw.event;
            weight = raw.weight;
            tid = raw.tid;
        }
        void mapping(const RawMapping&) override {}
        void thread_name(std::uint32_t, std::string_view) override {}
        void thread_started(std::uint32_t, std::uint32_t, std::uint64_t) override {}
        void thread_ended(std::uint32_t, std::uint64_t) override {}
        void lost(std::uint64_t) override { FAIL("of the own event"); }
        void throttled(std::uint64_t) override { FAIL("of the own event"); }
        void event_lost(std::uint32_t of, std::uint64_t of_lost) override { lost_weight += of * of_lost; }
        void event_throttled(std::uint32_t of) override { times_throttled += of; }
        std::uint32_t event = 0, tid = 0;
        std::uint64_t weight = 0, lost_weight = 0, times_throttled = 0;
    } sink;
    RecordLayout layout;
    layout.event = 2;
    layout.weight = 1234;
    Record sample(PERF_RECORD_SAMPLE);
    sample.put(std::uint32_t{7}).put(std::uint32_t{8}).put(std::uint64_t{99}).put(std::uint64_t{1234});
    sample.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE});
    CHECK(dispatch_record(sample.done(), layout, sink));
    CHECK(sink.event == 2);
    CHECK(sink.tid == 8);
    CHECK(sink.weight == 1234);
    Record lost(PERF_RECORD_LOST);
    lost.put(std::uint64_t{1}).put(std::uint64_t{5}).identity(8, 100);
    CHECK(dispatch_record(lost.done(), layout, sink));
    CHECK(sink.lost_weight == 2 * 5 * 1234);
    Record throttle(PERF_RECORD_THROTTLE);
    throttle.put(std::uint64_t{1}).put(std::uint64_t{1}).put(std::uint64_t{1}).identity(8, 100);
    CHECK(dispatch_record(throttle.done(), layout, sink));
    CHECK(sink.times_throttled == 2);
}

TEST_CASE("where samples carry counts, each stands for what was counted") {
    struct Sink final : Seen {
        void sample(const RawSample& raw) override { cpu_ns.push_back(raw.weight); }
        std::vector<std::uint64_t> cpu_ns;
    } sink;
    ThreadClock clock({.period_ns = 1000}, false, 1);
    RecordLayout layout{.period_ns = 1000, .clock = &clock};
    const auto sampled = [&](std::uint64_t counted) {
        Record record(PERF_RECORD_SAMPLE);
        record.identity(2, 99).put(counted).put(std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE});
        CHECK(dispatch_record(record.done(), layout, sink));
    };
    sampled(1000);
    sampled(4000);
    layout.stands_for = 8;  // one thread in eight was sampled from its birth
    sampled(5800);
    CHECK(sink.cpu_ns == std::vector<std::uint64_t>{1000, 3000, 8 * 1800});
}
