// A blocked thread read as the collector reads it, beside what the kernel sampled when the same wait began: a
// context-switch sample with all registers and a copy of the stack, which only root may have (exclude_kernel=0).
#include <doctest/doctest.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "../full_size.hpp"
#include "../live_map.hpp"
#include "base/descriptor.hpp"
#include "base/proc.hpp"
#include "blocked_child.hpp"
#include "capture/blocked_reader.hpp"
#include "capture/perf_record.hpp"
#include "capture/ring_buffer.hpp"
#include "cpu/registers.hpp"
#include "unwind/unwinder.hpp"

using namespace flameprobe;

namespace {

constexpr std::size_t ring_bytes = 256 * 1024;

/// The last context-switch sample of a thread.
class LastSample final : public RecordSink {
public:
    void take(const Record& record) override {
        if (std::holds_alternative<SamplesLost>(record) || std::holds_alternative<Throttled>(record)) there = false;
        const auto* const raw = std::get_if<TimeSample>(&record);
        if (raw == nullptr) return;
        registers = raw->registers;
        stack.assign(raw->stack.begin(), raw->stack.end());
        there = raw->has_registers;
    }

    Registers registers;
    std::vector<std::byte> stack;
    bool there = false;
};

/// One thread's switches.
class Switches {
public:
    static std::optional<Switches> open(pid_t tid) {
        perf_event_attr attr{};
        attr.size = sizeof attr;
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
        attr.sample_period = 1;
        attr.sample_type = sample_layout | PERF_SAMPLE_STACK_USER;
        attr.sample_regs_user = sampled_registers;
        attr.sample_stack_user = 16 * 1024;
        attr.exclude_callchain_user = 1;
        attr.sample_id_all = 1;
        attr.use_clockid = 1;
        attr.clockid = CLOCK_MONOTONIC;
        Descriptor file(static_cast<int>(::syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
        if (!file) return std::nullopt;
        auto ring = RingBuffer::map(file.get(), ring_bytes, ring_bytes / 4);
        if (!ring) return std::nullopt;
        return Switches(std::move(file), std::move(*ring));
    }
    std::string compared;  // the slices at the last wait that was compared

    const LastSample& last() {
        const RecordLayout layout{.stack = true};
        constexpr std::size_t largest_record = 32 * 1024;
        std::size_t bytes = 0;
        ring_.begin_round();
        for (auto record = ring_.peek(); !record.empty(); record = ring_.peek()) {
            bytes += record.size();
            if (const auto read = read_record(record, layout)) last_.take(*read);
            ring_.consume();
        }
        // Where there was no room for one more, the last may be missing; the kernel reports that only with the next.
        if (bytes + largest_record > ring_.data_bytes()) last_.there = false;
        return last_;
    }

private:
    Switches(Descriptor file, RingBuffer ring) : file_(std::move(file)), ring_(std::move(ring)) {}

    Descriptor file_;
    RingBuffer ring_;
    LastSample last_;
};

std::string task_file(pid_t process, pid_t tid, const char* name) {
    return read_small_file(("/proc/" + std::to_string(process) + "/task/" + std::to_string(tid) + "/" + name).c_str())
        .value_or("");
}

/// The number of time slices that the thread has had: while it is the same, the thread has not run.
std::string slices_of(pid_t process, pid_t tid) {
    const std::string text = task_file(process, tid, "schedstat");
    return text.substr(text.rfind(' ') + 1);
}

struct SwitchCounts {
    int reads = 0, rooted = 0, recovered = 0, wrong = 0, woke = 0;
};

void compare(Unwinder& unwinder, pid_t process, pid_t tid, Switches& switches, SwitchCounts& counts) {
    const std::string before = slices_of(process, tid);
    if (before == switches.compared) return;
    BlockedThread thread;
    if (!parse_blocked(task_file(process, tid, "syscall").c_str(), thread)) return;
    const auto memory = testing::read_process(process, thread.sp, 60 * 1024);
    const LastSample& sample = switches.last();
    if (before.empty() || slices_of(process, tid) != before) {
        ++counts.woke;
        return;
    }
    if (!sample.there) return;
    switches.compared = before;
    Walk whole, blocked;
    unwinder.walk(sample.registers, {sample.registers.sp(), sample.stack}, nullptr, whole);
    unwinder.walk_blocked(thread.pc, thread.sp, {thread.sp, memory}, nullptr, blocked);
    ++counts.reads;
    counts.rooted += whole.end == WalkEnd::root;
    counts.recovered += whole.end == WalkEnd::root && blocked.end == WalkEnd::root;
    bool same = sample.registers.sp() == thread.sp &&
                (whole.end != WalkEnd::root || blocked.frames.size() <= whole.frames.size());
    for (std::size_t i = 0; same && i < std::min(blocked.frames.size(), whole.frames.size()); ++i)
        same = blocked.frames[i].address == whole.frames[i].address;
    counts.wrong += !same || (whole.end == WalkEnd::root && blocked.end == WalkEnd::root &&
                              blocked.frames.size() != whole.frames.size());
}

}  // namespace

TEST_CASE("a blocked thread's stack is the one that its context switch was sampled with") {
    const int enough = testing::full_size() ? 50'000 : 1'000;
    std::vector<pid_t> tids;
    const pid_t child = testing::start_blocked_child(tids);
    REQUIRE(child > 0);
    CodeMap map;
    testing::add_own_mappings(map);
    const auto unwinder = make_dwarf_unwinder(map);
    std::map<pid_t, Switches> switches;
    int refused = ::geteuid() == 0 ? 0 : EPERM;
    for (const pid_t tid : tids) {
        if (refused != 0) break;
        auto opened = Switches::open(tid);
        if (!opened) refused = errno;
        if (opened) switches.emplace(tid, std::move(*opened));
    }
    SwitchCounts counts;
    for (int round = 0; refused == 0 && round < 100 * enough && counts.reads < enough; ++round) {
        for (auto& [tid, of_thread] : switches) compare(*unwinder, child, tid, of_thread, counts);
        ::usleep(200);  // so that most wake in between
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (refused != 0) {
        MESSAGE("not run: context-switch samples with registers are root's (" << std::string(strerrordesc_np(refused))
                                                                              << ")");
        return;
    }
    CAPTURE(counts.reads);
    CAPTURE(counts.woke);
    CHECK(counts.reads >= enough);
    CHECK(counts.wrong == 0);
    CHECK(counts.recovered >= counts.rooted * testing::least_recovered);
    MESSAGE(counts.recovered << " of " << counts.rooted << " rooted, " << counts.wrong << " of " << counts.reads
                             << " wrong; " << counts.woke << " woke while they were read");
}
