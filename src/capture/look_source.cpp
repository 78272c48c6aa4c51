// From outside, where perf is refused: takes no samples, and finds the mappings and threads that looks at threads that
// wait need (collect/tick_waits.hpp). Of CPU time only each thread's clock is known.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/event_source.hpp"
#include "capture/map_watch.hpp"

namespace flameprobe {
namespace {

class LookSource final : public EventSource {
public:
    LookSource(const CaptureOptions& options, const std::string& why_no_events) {
        facts_.engine = EngineKind::looks;
        facts_.event = "cpu-clock";
        facts_.event_kind = "software clock";
        facts_.frequency = options.frequency;
        facts_.period_ns = ns_per_second / options.frequency;
        facts_.fill_ns = ns_per_second;
        facts_.works_outside = true;
        facts_.no_switches = why_no_events;
        facts_.note = "CPU time has no stacks, and where threads wait is read from /proc";
    }
    Result<void> start() override { return {}; }
    void stop() override {}
    void drain(RecordSink& sink) override;
    bool has_samples() const override { return false; }
    const CaptureFacts& facts() const override { return facts_; }
    bool ended() override { return host_has_other_image(); }

private:
    void find_threads(RecordSink& sink, std::uint64_t now_ns);

    CaptureFacts facts_;
    MapWatch maps_;
    std::map<std::uint32_t, std::string> names_;  // of the threads that live
    std::uint64_t next_ns_ = 0;
};

void LookSource::drain(RecordSink& sink) {
    const std::uint64_t now = monotonic_ns();
    if (sink.met_unknown_code()) maps_.met_unknown_code();
    maps_.refresh(sink, now);
    constexpr std::uint64_t between_lists_ns = 100 * ns_per_ms;
    if (now < next_ns_) return;
    next_ns_ = now + between_lists_ns;
    find_threads(sink, now);
}

void LookSource::find_threads(RecordSink& sink, std::uint64_t now_ns) {
    const auto living = list_threads();
    if (living.empty()) return;  // the process has ended, and its clocks were read
    for (const std::uint32_t tid : living) {
        const auto [known, is_new] = names_.try_emplace(tid);
        if (is_new) sink.take(ThreadStarted{tid, 0, 0});
        const std::string name = thread_comm(tid);
        if (name.empty() || name == known->second) continue;
        known->second = name;
        sink.take(ThreadNamed{tid, name});
    }
    std::erase_if(names_, [&](const auto& known) {
        if (std::binary_search(living.begin(), living.end(), known.first)) return false;
        sink.take(ThreadEnded{known.first, now_ns});
        return true;
    });
}

}  // namespace

Result<std::unique_ptr<EventSource>> open_look_source(const CaptureOptions& options, const std::string& why_no_events) {
    if (list_threads().empty()) return Error{"the process has ended, or /proc does not show its threads"};
    return std::unique_ptr<EventSource>(std::make_unique<LookSource>(options, why_no_events));
}

}  // namespace flameprobe
