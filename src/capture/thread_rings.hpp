// One perf event with a ring for each thread, read as one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "capture/event_source.hpp"
#include "capture/perf_event.hpp"
#include "capture/ring_buffer.hpp"
#include "capture/thread_clock.hpp"

namespace flameprobe {

// How large the threads' rings are.

/// The data bytes of a ring, and of the stack that each sample copies: less for each the more threads there are, where
/// the kernel permits no more, and in a brief thread's first ring.
///
/// The first size has room for 80 ms of samples, as long as there are few threads, and the second for 40 ms: waking the
/// collector costs more than the memory. The others have room for those between two drains. The last one is for as many
/// threads as there can be.
class RingSizes {
public:
    struct Size {
        std::size_t bytes;
        std::uint32_t stack;
    };
    static constexpr std::size_t steps = 6;

    RingSizes() = default;
    /// `stack`: of a sample, where there are few threads.
    RingSizes(std::uint64_t frequency, std::uint32_t stack) : frequency_(std::max<std::uint64_t>(1, frequency)) {
        constexpr std::uint32_t kib = 1024;
        const std::uint32_t stacks[steps] = {stack, stack, 16 * kib, 8 * kib, 4 * kib, 2 * kib};
        for (std::size_t step = 0; step < steps; ++step) {
            sizes_[step].stack = std::min(stacks[step], stack);
            sizes_[step].bytes = bytes_for(step + 1 == steps ? 3 : samples_between_drains(0), sizes_[step].stack);
        }
        const std::uint64_t wanted = frequency_ * (stack + for_one_sample) / 25;
        sizes_[1].bytes =
            std::max(sizes_[1].bytes, std::clamp<std::size_t>(std::bit_floor(wanted), 128 * kib, 1024 * kib));
        sizes_[0].bytes =
            std::max<std::size_t>(sizes_[1].bytes, std::min<std::size_t>(2 * sizes_[1].bytes, 1024 * kib));
    }

    /// The step to begin with where there are so many threads; the kernel may refuse it for lack of memory that may be
    /// locked, and the next ones.
    std::size_t first(std::size_t threads) const {
        constexpr std::size_t most[steps - 2] = {4, 16, 64, 256};
        std::size_t step = 0;
        while (step < std::size(most) && threads > most[step]) ++step;
        return std::max(permitted_, step);
    }
    void refused(std::size_t step) { permitted_ = std::min(step + 1, steps - 1); }
    /// Where the last of so many threads were refused every size: the next smaller one is first for all. False: none
    /// was refused every size, or all have the smallest.
    bool plan_smaller(std::size_t threads) {
        if (permitted_ + 1 < steps || planned_ + 1 == steps) return false;
        permitted_ = planned_;
        permitted_ = planned_ = first(threads) + 1;
        return true;
    }
    /// Most of a brief thread's ring would never be used, and the kernel fills it with zeros.
    Size of(std::size_t step, std::size_t threads, bool brief, bool one_sample) const {
        Size size = sizes_[step];
        const std::uint64_t samples = one_sample ? 1 : samples_between_drains(threads);
        if (brief || step > 1) size.bytes = std::min(size.bytes, bytes_for(samples, size.stack));
        return size;
    }
    /// Nanoseconds in which a thread that runs fills its ring.
    std::uint64_t fill_ns(std::size_t threads, bool brief) const {
        const Size size = of(first(threads), threads, brief, false);
        return size.bytes / (size.stack + 512) * ns_per_second / frequency_;
    }
    /// A power of two pages, as perf asks for.
    static std::size_t bytes_for(std::uint64_t samples, std::uint32_t stack) {
        return std::bit_ceil(samples * (stack + for_one_sample));
    }

private:
    static constexpr std::size_t for_one_sample = 1024;  // beside the stack: registers, kernel chain, header

    // What a thread gives before the collector has its turn again, in four milliseconds. At the highest frequencies
    // less, and less where there are many threads, whose rings would take hundreds of MiB.
    std::uint64_t samples_between_drains(std::size_t threads) const {
        return std::clamp<std::uint64_t>((frequency_ + 249) / 250, 3, threads < 192 ? 8 : 4);
    }

    std::uint64_t frequency_ = 1;
    std::array<Size, steps> sizes_{};
    std::size_t permitted_ = 0;  // the first step that the kernel has not refused
    std::size_t planned_ = 0;    // and that is used though it is not known to be refused
};

/// The events of one thread.
struct ThreadEvents {
    struct Ring {
        Descriptor event;
        RingBuffer ring;
        std::uint32_t number = 0;  // EventSample::event
    };
    std::uint32_t tid = 0;
    Ring own;                // of CaptureOptions::event
    std::vector<Ring> more;  // of CaptureOptions::more_events
    Descriptor switches;     // its records are in `own`
    ThreadClock clock;
    std::uint64_t stands_for = 1;    // see NewThreadShare
    std::uint64_t next_look_ns = 0;  // at a brief thread without further samples
    std::uint64_t lost_records = 0;  // of `own`, up to the last sample
    bool ended = false;              // its last record was read, or it is gone
    // See ThreadRings::open_inherited(): `own` is then the main thread's event on one CPU, and these are the others'.
    bool inherited = false;
    std::vector<Descriptor> beside;
};

/// What events are opened with.
struct ThreadEventSettings {
    perf_event_attr own{};
    std::vector<perf_event_attr> more{};  // by EventSample::event - 1
    std::optional<perf_event_attr> switches{};
    ClockRate rate{};  // without a period: the event is no clock
};

/// Of clocks; else without a period.
ClockRate clock_rate(const perf_event_attr& attributes);

/// The collector only.
class ThreadRings {
public:
    enum class Outcome : std::uint8_t {
        opened,
        gone,           // the thread has ended
        no_memory,      // that the kernel locks for rings
        no_descriptor,  // is left
        refused,        // by perf
    };
    struct Opened {
        Outcome outcome = Outcome::opened;
        std::string why{};  // not, if it is not opened or gone
    };

    /// To be called first. Opens the events of `tid`, the main thread; all attributes must be permitted. `at_once`:
    /// they count from now on, as if enable() had been called.
    Result<void> open_main(const ThreadEventSettings& settings, std::uint64_t frequency, std::uint32_t tid,
                           bool at_once);
    /// Opens the events of another thread; records begin at once if the rings are enabled. `brief`: see ThreadClock.
    Opened add(std::uint32_t tid, bool brief, NewThreadShare share = {});
    /// Where the kernel had no memory for the rings of the last threads: closes those of all but the main thread, to be
    /// opened anew with smaller ones. False: none was refused it, or they are the smallest.
    bool begin_again_smaller();
    /// Opens events that all threads born from now on inherit, with a ring for each CPU, whatever their number: for a
    /// host that goes on without the right to open others. The threads that have events already are in these rings too.
    /// The period that a sample stands for.
    std::uint64_t open_inherited();
    bool inherits() const { return inherits_; }
    bool knows(std::uint32_t tid) const { return by_tid_.contains(tid); }
    ThreadEvents* find(std::uint32_t tid) const;
    std::size_t size() const { return all_.size(); }
    std::size_t bytes() const;  // of all rings
    /// Nanoseconds in which a ring may be full, of any thread there is.
    std::uint64_t fill_ns() const { return sizes_.fill_ns(size(), any_brief_); }
    /// CPU time after which a thread is no brief one; 0 if the event is no clock.
    std::uint64_t lives_on_ns() const { return settings_.rate.lives_on_ns(); }

    /// False if the main thread's event refuses; other threads may have ended.
    bool enable();
    /// Records of a later time are not read. `for_good`: the events are left as they are, since to disable one
    /// interrupts the CPU that had the thread last.
    void disable(bool for_good);
    void stop_switches();
    /// Whether all threads that have events have ended, or exec has replaced the program.
    bool ended() const;
    template <class Wanted>
    bool any_record(Wanted wanted) const {
        for (const auto& thread : all_)
            if (thread->own.ring.holds(wanted)) return true;
        return false;
    }

    struct Next {
        ThreadEvents* thread;
        ThreadEvents::Ring* ring;
    };
    /// What the kernel writes from now on waits for the next round.
    void begin_round();
    /// Where the oldest record is, so that a mapping that one thread made is known before another's sample uses it;
    /// `ring` is null when the round is over.
    Next oldest() const;
    /// To be called when the record of oldest() has been read.
    void consume();
    /// Draws periods anew, and closes what has ended.
    void end_round();
    /// What its ring holds is read in the next round, or is being read.
    void forget(ThreadEvents& thread);
    /// Of the thread's own event: the CPU time that it has counted, and the records that found no room (Linux 6.0).
    struct Counts {
        std::uint64_t cpu_ns = 0, lost_records = 0;
    };
    static std::optional<Counts> counts(const ThreadEvents& thread);
    auto begin() const { return all_.begin(); }
    auto end() const { return all_.end(); }

private:
    Opened open(ThreadEvents& thread, RingSizes::Size size);
    std::unique_ptr<ThreadEvents> open_on_cpu(const perf_event_attr& attr, int cpu) const;
    Opened map(ThreadEvents::Ring& ring, std::size_t bytes, std::size_t least);
    static void enable(const ThreadEvents& thread);
    void go_on(ThreadEvents& thread);
    void settle(ThreadEvents& thread) const;
    static std::uint64_t cpu_ns(const ThreadEvents& thread);

    ThreadEventSettings settings_;
    RingSizes sizes_;
    std::vector<std::unique_ptr<ThreadEvents>> all_;
    std::unordered_map<std::uint32_t, ThreadEvents*> by_tid_;
    bool enabled_ = false, inherits_ = false, any_brief_ = false;
    std::uint64_t sampled_once_ = 0;  // threads of one sample, in the last round
    struct Waiting {
        std::uint64_t time_ns;
        Next next;
        bool operator<(const Waiting& other) const { return time_ns > other.time_ns; }  // the oldest on top
    };
    std::vector<Waiting> waiting_;  // a heap
    std::uint64_t round_ns_ = 0;
    static constexpr std::uint64_t for_ever = ~std::uint64_t{0};
    std::uint64_t until_ns_ = for_ever;  // see disable()
};

}  // namespace flameprobe
