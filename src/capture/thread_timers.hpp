#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/map_watch.hpp"
#include "capture/record.hpp"
#include "capture/timer_slots.hpp"

namespace flameprobe {

/// One CPU timer per thread of the process: arms the timers of threads it finds, compares each thread's samples with
/// its CPU clock, and frees the slots of threads that ended. Collector thread only; that thread itself gets no timer.
class ThreadTimers {
public:
    explicit ThreadTimers(handler::State& state);

    /// Timers for all threads that run. Threads born while it goes on are found too.
    void start();
    /// No timer is armed after it returns. Threads keep their slots.
    void stop() { slots_.stop(); }
    /// To be called before samples are read: takes over the threads that attached themselves, and attaches others that
    /// are new.
    void find_new(RecordSink& sink, std::uint64_t now_ns);
    /// Before the samples of these threads (tids, in order) are handed on: a name that a thread has got since the last
    /// round is theirs, as most are given when a thread begins.
    void read_names(const std::vector<std::uint32_t>& tids, RecordSink& sink, std::uint64_t now_ns);
    /// A sample of the thread in the cell's slot: gives the CPU time that it stands for, 0 if it must not be counted.
    std::uint64_t account(const handler::CellHead& cell);
    /// To be called after samples were read: reads names and stacks, disarms the timers of threads that block the
    /// signal, finds threads that ended.
    void finish_round(RecordSink& sink, MapWatch& maps, std::uint64_t now_ns);
    /// Threads for which `perf_samples` gives false are sampled in user code too, where else only the kernel's time is.
    template <class PerfSamples>
    void take_all_of(const PerfSamples& perf_samples) {
        for (std::size_t i = 0; i < records_.size(); ++i)
            if (records_[i].tid != 0 && !slots_[i].all.load(std::memory_order_relaxed) &&
                !perf_samples(records_[i].tid))
                slots_[i].all.store(true, std::memory_order_relaxed);
    }
    const TimerSlots& slots() const { return slots_; }
    /// Threads that used CPU time while they blocked the signal.
    std::size_t blocking() const { return blocking_; }

private:
    struct Record {
        std::uint32_t tid = 0;  // 0: no thread is known in this slot
        bool ended = false;     // freed at the end of the next round
        bool masked = false;
        bool stack_known = false;
        bool noted_blocking = false;
        std::uint8_t stack_tries = 0;
        std::uint64_t cpu_ns = 0;          // the thread's CPU time when last read
        std::uint64_t noticed_ns = 0;      // ThreadSlot::noticed_ns when last read
        std::uint64_t sampled = 0;         // CPU time in this round
        std::uint64_t blocked_cpu_ns = 0;  // CPU time when it was found to block the signal, or in our handler; 0: not
        std::optional<bool> in_kernel;     // once it was read
        std::uint64_t named_ns = 0;
        std::uint64_t looked_ns = 0;  // when it was last read whether the thread blocks the signal
        std::string name;
    };

    bool is_main(const Record& record) const { return record.tid == static_cast<std::uint32_t>(state_.pid); }
    void take_over(std::size_t index, RecordSink& sink);
    void find_threads();
    void drop_duplicates();
    void visit(std::size_t index, RecordSink& sink, std::uint64_t now_ns);
    void note_blocking(Record& record);
    /// Reports what found no free cell since the last call as lost.
    void count_dropped(std::size_t index, RecordSink& sink);
    void visit_unattached(std::size_t index, std::uint64_t cpu_ns, RecordSink& sink);
    bool blocks_for_long(std::size_t index, std::uint64_t cpu_ns, std::uint64_t now_ns);
    void visit_armed(std::size_t index, std::uint64_t cpu_ns, RecordSink& sink, std::uint64_t now_ns);
    void read_name(Record& record, RecordSink& sink, std::uint64_t now_ns);
    void find_stacks(RecordSink& sink, MapWatch& maps, std::uint64_t now_ns);

    handler::State& state_;
    TimerSlots slots_;
    std::vector<Record> records_;  // by slot
    std::uint64_t tick_ns_;
    std::uint64_t next_scan_ns_ = 0;
    std::size_t next_visit_ = 0;
    std::size_t live_ = 0;
    std::size_t blocking_ = 0;
};

}  // namespace flameprobe
