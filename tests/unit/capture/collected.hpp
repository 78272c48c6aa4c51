// A collector thread that drains an event source into memory, for tests of sources.
#pragma once

#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capture/event_source.hpp"
#include "known_shares.hpp"

namespace flameprobe::test {

// Tests with bare clone(2) or seccomp are skipped: TSan's run-time needs every thread to be libc's, and strict seccomp
// kills for its system calls.
#ifdef __SANITIZE_THREAD__
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif

inline std::uint32_t my_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

/// A thread that was joined may run on in the kernel for a moment, and longer on a busy machine.
inline void wait_until_gone(std::uint32_t tid) {
    while (::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

struct Taken {
    std::uint64_t time_ns;
    std::uint32_t tid;
    std::uint64_t weight;
    Registers registers;
    bool has_registers;
    std::vector<std::byte> stack;
};

struct Seen : RecordSink {
    std::vector<Taken> samples;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> mappings;
    std::map<std::uint32_t, std::string> names;
    std::map<std::uint32_t, int> started, ended;
    std::map<std::uint32_t, std::uint64_t> unsampled_ns, kernel_ns;
    std::uint64_t lost_ns = 0;
    std::size_t mapped_late = 0;  // samples whose pc was in no mapping reported before them

    void take(const Record& record) override {
        std::visit([this](const auto& kind) { on(kind); }, record);
    }
    void on(const TimeSample& sample) {
        samples.push_back({sample.time_ns,
                           sample.tid,
                           sample.weight,
                           sample.registers,
                           sample.has_registers,
                           {sample.stack.begin(), sample.stack.end()}});
        const auto pc = sample.registers.pc();
        const bool known = std::any_of(mappings.begin(), mappings.end(),
                                       [pc](const auto& range) { return range.first <= pc && pc < range.second; });
        mapped_late += known ? 0 : 1;
    }
    void on(const RawMapping& mapping) { mappings.emplace_back(mapping.start, mapping.start + mapping.size); }
    void on(const ThreadNamed& thread) { names[thread.tid] = thread.name; }
    void on(const ThreadStarted& thread) { ++started[thread.tid]; }
    void on(const ThreadEnded& thread) { ++ended[thread.tid]; }
    void on(const SamplesLost& lost) { lost_ns += lost.weight; }
    void on(const TimeNotSampled& time) { (time.in_kernel ? kernel_ns : unsampled_ns)[time.tid] += time.cpu_ns; }
    void on(const auto&) {}

    std::size_t hits(std::uint32_t tid) const {
        return static_cast<std::size_t>(
            std::count_if(samples.begin(), samples.end(), [tid](const Taken& sample) { return sample.tid == tid; }));
    }
    /// Time of the thread's last sample; 0 if it has none.
    std::uint64_t last_ns(std::uint32_t tid) const {
        std::uint64_t last = 0;
        for (const auto& sample : samples) last = sample.tid == tid ? std::max(last, sample.time_ns) : last;
        return last;
    }
    /// What is told of the thread's CPU time, with or without samples.
    std::uint64_t accounted(std::uint32_t tid) const {
        const auto unsampled = unsampled_ns.find(tid);
        return weight(tid) + (unsampled == unsampled_ns.end() ? 0 : unsampled->second) + lost_ns;
    }
    std::uint64_t weight(std::uint32_t tid) const {
        std::uint64_t sum = 0;
        for (const auto& sample : samples) sum += sample.tid == tid ? sample.weight : 0;
        return sum;
    }
};

/// How many samples of a thread were drained so far. Any thread may read it, by no system call.
class SampleCount {
public:
    void watch(std::uint32_t tid) { tid_ = tid; }
    operator std::uint64_t() const { return samples_; }
    /// Collector only: samples that are new.
    void add(const Taken& sample) {
        if (sample.tid == tid_) ++samples_;
    }

private:
    std::atomic<std::uint32_t> tid_{0};
    std::atomic<std::uint64_t> samples_{0};
};

/// Opens, starts and drains in a thread of its own, as a session does, until finish().
class Collected {
public:
    using Open = Result<std::unique_ptr<EventSource>> (*)(const CaptureOptions&);

    Collected(Open open, const CaptureOptions& options,
              std::chrono::milliseconds every = std::chrono::milliseconds(20)) {
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        thread_ = std::thread([this, open, options, every] { run(open, options, every); });
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        unblocked_ = true;  // else the source would find the caller with its signal blocked
        while (!ready_.load()) std::this_thread::yield();
    }
    ~Collected() { finish(); }

    /// Empty if the source could be started.
    const std::string& error() const { return error_; }
    const CaptureFacts& facts() const { return facts_; }
    /// Counts the samples of the calling thread from now on. For up to eight threads.
    const SampleCount& count_mine() {
        SampleCount& count = counts_.at(counted_++);
        count.watch(my_tid());
        return count;
    }
    /// Samples of all threads that were drained so far.
    std::uint64_t samples() const { return samples_; }
    /// Waits until the source has been drained `times` more.
    void rounds(unsigned times) {
        const unsigned until = rounds_.load() + times;
        while (error_.empty() && rounds_.load() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    unsigned rounds_so_far() const { return rounds_; }
    Seen& finish() {
        done_ = true;
        if (thread_.joinable()) thread_.join();
        return seen_;
    }

private:
    void run(Open open, const CaptureOptions& options, std::chrono::milliseconds every) {
        while (!unblocked_.load()) std::this_thread::yield();
        auto source = open(options);
        if (!source) {
            error_ = source.error().message;
        } else if (auto started = (*source)->start(); !started) {
            error_ = started.error().message;
        }
        ready_ = true;
        while (error_.empty() && !done_.load()) {
            const std::size_t before = seen_.samples.size();
            (*source)->drain(seen_);
            for (std::size_t i = before; i < seen_.samples.size(); ++i)
                for (auto& count : counts_) count.add(seen_.samples[i]);
            samples_ = seen_.samples.size();
            ++rounds_;
            std::this_thread::sleep_for(every);
        }
        if (!error_.empty()) return;
        (*source)->stop();
        (*source)->drain(seen_);
        facts_ = (*source)->facts();
    }

    std::atomic<bool> unblocked_{false}, ready_{false}, done_{false};
    std::atomic<unsigned> rounds_{0};
    std::atomic<std::uint64_t> samples_{0};
    std::array<SampleCount, 8> counts_;
    std::atomic<std::size_t> counted_{0};
    std::string error_;
    CaptureFacts facts_;
    Seen seen_;
    std::thread thread_;
};

/// Checks that a thread which ran KnownShares was sampled `least` times or more, in the known shares.
inline void check_shares(const Seen& seen, std::uint32_t tid, unsigned least) {
    std::array<double, 4> hits{};
    double all = 0;
    for (const auto& sample : seen.samples) {
        const int share = known_share_of(sample.registers.pc());
        if (sample.tid != tid || share < 0) continue;
        hits[static_cast<std::size_t>(share)] += 1;
        all += 1;
    }
    REQUIRE(all >= least);
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const double p = known_shares[i] / 100.0;
        CAPTURE(i);
        CAPTURE(hits[i] / all);
        // Five standard deviations of a binomial: one run in 1.7 million fails by chance.
        CHECK(std::abs(hits[i] / all - p) < 5 * std::sqrt(p * (1 - p) / all));
    }
}

}  // namespace flameprobe::test
