#include <dirent.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "base/clock.hpp"
#include "capture/perf_event.hpp"
#include "collected.hpp"
#include "cpu_facts.hpp"
#include "cpu_log.hpp"
#include "known_shares.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

// The CPUs that this process may use.
std::vector<int> usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

// Keeps the calling thread, and those that it creates from now on, on these CPUs.
void stay_on(const std::vector<int>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(cpu, &set);
    REQUIRE(::sched_setaffinity(0, sizeof set, &set) == 0);
}

/// A thread that moves to `cpu` when move() is called, and uses 300 ms of CPU time there at finish().
class Mover {
public:
    explicit Mover(int cpu) : thread_([this, cpu] { run(cpu); }) {
        while (tid_ == 0) std::this_thread::yield();
    }
    ~Mover() { finish(); }
    void move() {
        wish_ = 1;
        while (wish_ != 2) std::this_thread::yield();
    }
    /// Gives nanoseconds of its CPU time.
    std::uint64_t finish() {
        wish_ = 3;
        if (thread_.joinable()) thread_.join();
        return used_;
    }
    std::uint32_t tid() const { return tid_; }

private:
    void run(int cpu) {
        tid_ = my_tid();
        while (wish_ == 0) ::usleep(1000);
        stay_on({cpu});
        int moving = 1;
        wish_.compare_exchange_strong(moving, 2);
        while (wish_ != 3) ::usleep(1000);
        run_known_shares(300'000'000);
        used_ = read_clock(CLOCK_THREAD_CPUTIME_ID);
    }
    std::atomic<std::uint32_t> tid_{0};
    std::atomic<int> wish_{0};
    std::atomic<std::uint64_t> used_{0};
    std::thread thread_;
};

// Puts the calling thread under a filter that does `action` at perf_event_open(attributes, refused_thread, refused_cpu,
// ...).
std::atomic<std::uint32_t> refused_thread{0};
std::atomic<int> refused_cpu{0};
int at_one_event(std::uint32_t action, unsigned flags) {
    constexpr std::uint32_t number = offsetof(seccomp_data, nr), thread = offsetof(seccomp_data, args[1]),
                            cpu = offsetof(seccomp_data, args[2]);
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 5),
                          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, thread),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused_thread, 0, 3),
                          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, cpu),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(refused_cpu.load()), 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, action),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}
void refuse_one_event() { at_one_event(SECCOMP_RET_ERRNO | EIO, 0); }

/// A thread that creates another one while the source opens the events of a third: the creator has its events by then,
/// and the source's list of threads does not hold the new one.
class ThreadBetweenEvents {
public:
    ThreadBetweenEvents() : creator_([this] { create(); }) {
        while (!runs_) std::this_thread::yield();
    }
    ~ThreadBetweenEvents() {
        over_ = true;
        creator_.join();
    }
    /// Makes the calling thread's perf_event_open(attributes, refused_thread, refused_cpu, ...) wait until it is there.
    static void call_it() { calls = at_one_event(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER); }
    /// The new thread's; 0 if there is none.
    std::uint32_t tid() const { return tid_; }
    /// Lets it work for 300 ms of its CPU time.
    const CpuLog& work() {
        may_work_ = true;
        while (!has_worked_) ::usleep(1000);
        return log_;
    }

private:
    void create() {
        runs_ = true;
        pollfd call{-1, POLLIN, 0};
        while (!over_ && ::poll(&call, 1, 10) <= 0) call.fd = calls;
        seccomp_notif which{};
        if (over_ || ::ioctl(call.fd, SECCOMP_IOCTL_NOTIF_RECV, &which) != 0) return;
        std::thread created([this] {
            tid_ = my_tid();
            while (!may_work_ && !over_) ::usleep(1000);
            log_ = work_until([] { return read_clock(CLOCK_THREAD_CPUTIME_ID) >= 300'000'000; });
            has_worked_ = true;
        });
        while (tid_ == 0) std::this_thread::yield();
        seccomp_notif_resp answer{which.id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ::ioctl(call.fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        ::close(call.fd);  // a further call would fail, and not wait for ever
        created.join();
    }
    static inline std::atomic<int> calls{-1};
    std::atomic<bool> runs_{false}, may_work_{false}, has_worked_{false}, over_{false};
    std::atomic<std::uint32_t> tid_{0};
    CpuLog log_;
    std::thread creator_;
};

}  // namespace

TEST_CASE("a running thread that perf refuses on one CPU is sampled on the others, and a note says so" *
          doctest::skip(under_tsan)) {
    const auto cpus = usable_cpus();
    if (cpus.size() < 2) {
        MESSAGE("there is one CPU only");
        return;
    }
    Mover older(cpus.back());
    refused_thread = older.tid();
    refused_cpu = cpus.front();
    Collected collected(
        [](const CaptureOptions& options) {
            refuse_one_event();
            return open_ring_source(options);
        },
        {.frequency = 997});
    REQUIRE(collected.error() == "");
    older.move();
    const std::uint64_t used = older.finish();
    const Seen& seen = collected.finish();
    CHECK(seen.weight(older.tid()) * collected.facts().period_ns > used / 2);
    CHECK(collected.facts().refused_events == 1);
    CHECK(collected.facts().note.find("perf refuses 1 event") != std::string::npos);
}

TEST_CASE("a thread that is born while others get their events is sampled once" * doctest::skip(under_tsan)) {
    ThreadBetweenEvents between;  // before the other, in the list of threads too
    Mover other(usable_cpus().front());
    refused_thread = other.tid();
    refused_cpu = usable_cpus().front();
    Collected collected(
        [](const CaptureOptions& options) {
            ThreadBetweenEvents::call_it();
            return open_ring_source(options);
        },
        {.frequency = 997});
    REQUIRE(collected.error() == "");
    if (between.tid() == 0) {
        MESSAGE("seccomp gives no notifications here");
        return;
    }
    const CpuLog& log = between.work();
    check_covered(collected.finish(), collected.facts(), between.tid(), Moment{}, log);
    CHECK(collected.facts().earlier_threads == 3);  // so it has events of its own beside those that it inherited
}

TEST_CASE("threads are sampled on a CPU that none of them might use at first") {
    const auto cpus = usable_cpus();
    if (cpus.size() < 2) {
        MESSAGE("there is one CPU only");
        return;
    }
    stay_on({cpus.front()});
    Mover older(cpus.back());
    // As on a machine with many CPUs, where only the CPUs that threads may use have events.
    Collected collected(&open_ring_source, {.frequency = 997, .small_machine = 0});
    REQUIRE(collected.error() == "");
    Mover younger(cpus.back());
    for (Mover* const mover : {&older, &younger}) mover->move();
    collected.rounds(2);
    const std::uint64_t used[] = {older.finish(), younger.finish()};
    Mover youngest(cpus.back());  // inherits
    youngest.move();
    const std::uint64_t used_last = youngest.finish();
    stay_on(cpus);
    const Seen& seen = collected.finish();
    const auto check = [&](const Mover& mover, std::uint64_t used_ns) {
        const std::uint64_t sampled_ns = seen.weight(mover.tid()) * collected.facts().period_ns;
        CHECK(sampled_ns > used_ns / 2);
        CHECK(sampled_ns < used_ns * 3 / 2);  // not by two events
    };
    check(older, used[0]);
    check(younger, used[1]);
    check(youngest, used_last);
}

TEST_CASE("rings see known shares, and samples x period are the thread's CPU time") {
    Collected collected(&open_ring_source, {.frequency = 997});
    REQUIRE(collected.error() == "");
    const std::uint64_t begin = read_clock(CLOCK_THREAD_CPUTIME_ID);
    run_known_shares(1'500'000'000);
    const std::uint64_t used = read_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
    const Seen& seen = collected.finish();

    std::array<double, 4> hits{};
    double all = 0;
    for (const auto& sample : seen.samples) {
        const int share = known_share_of(sample.registers.pc());
        if (sample.tid != my_tid() || share < 0) continue;
        hits[static_cast<std::size_t>(share)] += 1;
        all += 1;
    }
    REQUIRE(all > 500);
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const double p = known_shares[i] / 100.0;
        CAPTURE(i);
        CHECK(std::abs(hits[i] / all - p) < 5 * std::sqrt(p * (1 - p) / all));
    }
    const double sampled = static_cast<double>(seen.weight(my_tid()) + seen.lost_samples) *
                           static_cast<double>(collected.facts().period_ns);
    CHECK(sampled == doctest::Approx(static_cast<double>(used)).epsilon(0.1));
}

TEST_CASE("threads older and younger than the source are sampled, and the collector is not") {
    std::atomic<bool> go_on{true};
    std::atomic<std::uint32_t> older{0}, younger{0};
    const auto work = [&](std::atomic<std::uint32_t>& tid) {
        tid = my_tid();
        while (go_on) run_known_shares(10'000'000);
    };
    std::thread first(work, std::ref(older));
    while (older == 0) std::this_thread::yield();
    Collected collected(&open_ring_source, {.frequency = 997});
    REQUIRE(collected.error() == "");
    std::thread second(work, std::ref(younger));
    const auto used = [](std::uint32_t tid) { return tid == 0 ? 0 : read_clock(thread_cpu_clock(tid)); };
    while (used(younger) < 300'000'000 || used(older) < 300'000'000) ::usleep(10'000);
    go_on = false;
    first.join();
    second.join();
    const Seen& seen = collected.finish();
    CHECK(seen.weight(older) > 50);
    CHECK(seen.weight(younger) > 50);
    std::size_t others = 0;
    for (const auto& sample : seen.samples) {
        others += sample.tid != older && sample.tid != younger && sample.tid != my_tid() ? 1 : 0;
    }
    CHECK(others == 0);
}

TEST_CASE("code that is mapped while sampling is reported and sampled") {
    Collected collected(&open_ring_source, {.frequency = 997});
    REQUIRE(collected.error() == "");
    // A spin loop in memory of its own.
    constexpr std::size_t code_bytes = sizeof test::count_down;
    auto* memory =
        static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(memory, test::count_down.data(), code_bytes);
    __builtin___clear_cache(memory, memory + code_bytes);
    // mprotect is no mmap: the kernel tells of executable memory in either case (perf_event_mmap in mprotect_fixup).
    REQUIRE(::mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0);
    reinterpret_cast<void (*)(std::uint64_t)>(memory)(1'500'000'000);
    const Seen& seen = collected.finish();
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    std::size_t hits = 0;
    for (const auto& sample : seen.samples)
        hits += sample.registers.pc() >= at && sample.registers.pc() < at + code_bytes ? 1 : 0;
    CHECK(hits > 20);
    const bool told = std::any_of(seen.mappings.begin(), seen.mappings.end(),
                                  [&](auto& range) { return range.first <= at && at < range.second; });
    CHECK(told);
    ::munmap(memory, 4096);
}

TEST_CASE("rings with records of mappings only have no samples") {
    const auto execute = PROT_READ | PROT_EXEC, own = MAP_PRIVATE | MAP_ANONYMOUS;
    auto rare = open_ring_source({.frequency = 1});
    REQUIRE(rare);
    REQUIRE((*rare)->start());
    void* const page = ::mmap(nullptr, 4096, execute, own, -1, 0);  // of which the rings have a record
    REQUIRE(page != MAP_FAILED);
    CHECK_FALSE((*rare)->has_samples());
    (*rare)->stop();
    ::munmap(page, 4096);

    auto source = open_ring_source({.frequency = 997});
    REQUIRE(source);
    CHECK_FALSE((*source)->has_samples());
    REQUIRE((*source)->start());
    run_known_shares(100'000'000);
    (*source)->stop();
    CHECK((*source)->has_samples());
    Seen seen;
    (*source)->drain(seen);
    CHECK(!seen.samples.empty());
    CHECK_FALSE((*source)->has_samples());
}

TEST_CASE("an event that is not known is refused with the names of those that are") {
    const auto refused = open_ring_source({.event = "cpu-clocks"});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("'cpu-clocks'") != std::string::npos);
    CHECK(refused.error().message.find("task-clock") != std::string::npos);
}

TEST_CASE("every refusal has a reason and a way out") {
    for (const int error : {EACCES, EPERM, ENOSYS, ENOENT, EMFILE, EINVAL, EIO}) {
        CAPTURE(error);
        CHECK(explain_refusal(error).size() > 20);
    }
    CHECK(explain_refusal(E2BIG) == explain_refusal(EINVAL));  // attributes longer than an older kernel's
}
