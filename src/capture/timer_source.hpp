// A CPU timer per thread signals that thread, whose handler copies: for where perf_event_open is refused, and for the
// kernel's time where perf may sample user code only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "capture/cell_reader.hpp"
#include "capture/event_source.hpp"
#include "capture/handler_memory.hpp"
#include "capture/map_watch.hpp"
#include "capture/thread_timers.hpp"

namespace flameprobe {

class TimerSource final : public EventSource {
public:
    enum class Samples { all, kernel_time };
    /// `kernel_time`: samples of system calls only. The CPU time of threads is told (TimeUsed); mappings are left
    /// to perf's rings.
    static Result<std::unique_ptr<TimerSource>> open(const CaptureOptions& options, std::uint64_t period_ns,
                                                     Samples samples);
    TimerSource(HandlerMemory memory, const CaptureOptions& options);
    ~TimerSource() override;

    Result<void> start() override;
    void stop() override;
    void drain(RecordSink& sink) override;
    bool has_samples() const override { return reader_.any(); }
    const CaptureFacts& facts() const override { return facts_; }

    ThreadTimers& timers() { return timers_; }

    // drain() in parts, for a source that merges these samples with others by time.
    void begin_round(RecordSink& sink);
    /// CLOCK_MONOTONIC of the next sample of the round; ~0 if there is none.
    std::uint64_t next_time() const;
    void take_next(RecordSink& sink);
    void end_round(RecordSink& sink);

private:
    void describe(const CaptureOptions& options);
    void keep_signal();
    bool takes_all_of(const handler::CellHead& cell) const;
    void count_in_user_code(const handler::CellHead& cell);
    void note_unsampled_threads();

    HandlerMemory memory_;
    ThreadTimers timers_;
    CellReader reader_;
    MapWatch maps_;
    SystemCallWatch calls_;
    CaptureFacts facts_;
    int first_signal_ = 0;  // chosen by open() for the first start(), which follows
    std::string own_note_;  // facts_.note as it was at first
    std::size_t noted_missing_ = 0, noted_blocking_ = 0;
    std::uint64_t round_ns_ = 0;
    std::size_t next_ = 0, gathered_ = 0;  // in this round
};

}  // namespace flameprobe
