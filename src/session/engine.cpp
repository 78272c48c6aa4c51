#include "session/engine.hpp"

#include <sys/syscall.h>

#include <algorithm>

#include "base/host_process.hpp"
#include "capture/perf_event.hpp"
#include "sandbox/host_restrictions.hpp"

namespace flameprobe {
namespace {

constexpr auto calls_of_timers = {long{SYS_timer_create}, long{SYS_timer_settime}, long{SYS_timer_delete},
                                  long{SYS_getitimer}};

CaptureOptions capture_options(const Options& options) {
    CaptureOptions capture;
    // Who asks for the start waits for it, but a signal's handler.
    capture.at_once = options.toggle_signal == 0 && !is_watched_from_outside();
    capture.frequency = options.frequency;
    capture.stack_bytes = options.stack_bytes != 0 ? options.stack_bytes : stack_bytes_for(options.frequency);
    capture.kernel = options.kernel != KernelChoice::off;
    capture.event = options.event;
    capture.more_events = options.more_events;
    capture.switches = options.off_cpu();
    return capture;
}

void add_warning(Engine& engine, const std::string& sentence) {
    engine.warning += (engine.warning.empty() ? "" : "; ") + sentence;
}

Engine made(std::unique_ptr<EventSource> source, std::uint32_t stack_bytes, std::string reason,
            const Options& options) {
    Engine engine{std::move(source), stack_bytes, std::move(reason), {}};
    const auto& facts = engine.source->facts();
    if (facts.frequency < options.frequency) {
        engine.warning = "FLAMEPROBE_FREQ was lowered from " + std::to_string(options.frequency) + " to " +
                         std::to_string(facts.frequency) + " samples a second: more is not permitted by the kernel";
    } else if (facts.unattached_threads != 0) {
        engine.warning = facts.note;
    } else if (options.kernel == KernelChoice::on && !facts.kernel) {
        engine.warning = facts.note.empty() ? "kernel code cannot be sampled by the " + facts.engine_name() + " engine"
                                            : facts.note.substr(0, facts.note.find("; "));
    }
    if (options.off_cpu() && !facts.switches) {
        add_warning(engine,
                    "how long threads wait is estimated from regular looks at them: " +
                        (facts.no_switches.empty() ? "the " + facts.engine_name() + " engine has no records of switches"
                                                   : facts.no_switches));
    }
    for (const std::string& event : options.more_events)
        if (facts.engine != EngineKind::ring)
            add_warning(engine, event + " is not sampled: the " + facts.engine_name() + " engine has one event");
    if (!facts.no_more_events.empty()) add_warning(engine, facts.no_more_events);
    return engine;
}

// A profile of an event that can be opened but never counts would be empty, without any message.
Result<void> event_counts(const CaptureOptions& capture) {
    if (capture.event == CaptureOptions{}.event) return {};
    return try_event(capture);
}

// Adds CPU timers for the kernel's time to a ring engine that may not sample the kernel. Gives the reason if that
// fails.
std::string with_kernel_time(std::unique_ptr<EventSource>& ring, const CaptureOptions& capture) {
    const auto& facts = ring->facts();
    if (!capture.kernel || facts.kernel || facts.period_ns == 0 || facts.unattached_threads != 0) return {};
    if (filter_kills_for(calls_of_timers)) return filter_text::would_kill_for("timer_create");
    auto both = add_kernel_time(ring, capture);
    if (!both) return both.error().message;
    ring = std::move(*both);
    return {};
}

// Removes the events that do not count, and gives the reasons.
std::string keep_those_that_count(std::vector<std::string>& events, const CaptureOptions& capture) {
    std::string problems;
    std::erase_if(events, [&](const std::string& event) {
        CaptureOptions alone = capture;
        alone.event = event;
        const auto counts = event_counts(alone);
        if (!counts) problems += (problems.empty() ? "" : "; ") + event + " is not sampled: " + counts.error().message;
        return !counts;
    });
    return problems;
}

Result<Engine> open_ring(const Options& options, CaptureOptions capture) {
    capture.frequency = permitted_frequency(capture.frequency);
    capture.stack_bytes = std::min(capture.stack_bytes, most_ring_stack_bytes);
    if (filter_kills_for({SYS_perf_event_open})) return Error{filter_text::would_kill_for("perf_event_open")};
    const std::string dropped = keep_those_that_count(capture.more_events, capture);
    const auto counts = event_counts(capture);
    auto ring = counts ? open_ring_source(capture) : counts.error();
    std::string other_event, note_no_timers;
    if (!ring && capture.event != CaptureOptions{}.event) {
        other_event = "FLAMEPROBE_EVENT=" + capture.event + " cannot be sampled: " + ring.error().message;
        capture.event = CaptureOptions{}.event;
        ring = open_ring_source(capture);
        other_event += "; it is " + capture.event + " that is sampled";
    }
    if (!ring) return ring.error();
    if (options.engine == EngineChoice::automatic) note_no_timers = with_kernel_time(*ring, capture);
    std::string reason = "perf_event_open is permitted";
    if (!(*ring)->facts().note.empty()) reason += "; " + (*ring)->facts().note;
    auto engine = made(std::move(*ring), capture.stack_bytes, std::move(reason), options);
    if (!note_no_timers.empty()) engine.reason += "; time in the kernel has no stack: " + note_no_timers;
    if (options.stack_bytes > capture.stack_bytes) {
        engine.warning = "FLAMEPROBE_STACK was lowered from " + std::to_string(options.stack_bytes) + " to " +
                         std::to_string(capture.stack_bytes) +
                         " bytes: the kernel copies no more (FLAMEPROBE_ENGINE=timer does)";
    }
    if (!other_event.empty()) engine.warning = std::move(other_event);
    if (!dropped.empty()) add_warning(engine, dropped);
    return engine;
}

// What the user reads of it is said by the command that watches, once for all processes.
Result<Engine> open_looks(const Options& options, const CaptureOptions& capture, const std::string& refusal) {
    auto looks = open_look_source(capture, refusal);
    if (!looks) return looks.error();
    Engine engine{std::move(*looks), 0, refusal, {}};
    std::vector<std::string> without = options.more_events;
    if (options.event != CaptureOptions{}.event) without.push_back(options.event);
    for (const std::string& event : without) add_warning(engine, event + " is not sampled: " + refusal);
    return engine;
}

}  // namespace

std::string Engine::take_news() {
    const std::string& note = source->facts().note;
    if (note == told) return {};
    constexpr std::string_view between = "; ";
    std::string news;
    for (std::string_view left = note; !left.empty();) {
        const std::string_view sentence = left.substr(0, left.find(between));
        left.remove_prefix(std::min(left.size(), sentence.size() + between.size()));
        if (told.find(sentence) != std::string::npos) continue;
        news.append(news.empty() ? "" : between).append(sentence);
    }
    told = note;
    return news;
}

Result<Engine> open_engine(const Options& options) {
    const auto capture = capture_options(options);
    std::string refusal = "asked for by FLAMEPROBE_ENGINE";
    if (options.engine == EngineChoice::signal)
        refusal = "FLAMEPROBE_ENGINE=signal samples by CPU timers, as timer does";
    if (options.engine != EngineChoice::timer && options.engine != EngineChoice::signal) {
        auto ring = open_ring(options, capture);
        if (ring && (options.engine == EngineChoice::ring || ring->source->facts().unattached_threads == 0))
            return ring;
        if (is_watched_from_outside() && options.off_cpu()) return open_looks(options, capture, ring.error().message);
        if (options.engine == EngineChoice::ring) return Error{"the ring engine cannot run: " + ring.error().message};
        refusal = ring ? "with the ring engine " + ring->source->facts().note : ring.error().message;
    }
    if (filter_kills_for(calls_of_timers)) {
        return Error{"nothing can be sampled: " + refusal + "; and " + filter_text::would_kill_for("timer_create")};
    }
    auto timer = open_timer_source(capture);
    if (!timer)
        return Error{"nothing can be sampled: " + refusal +
                     "; and the timer engine cannot run: " + timer.error().message};
    return made(std::move(*timer), capture.stack_bytes, refusal, options);
}

}  // namespace flameprobe
