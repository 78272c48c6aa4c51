#include "session/collector.hpp"

#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/all_signals_blocked.hpp"
#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "base/self_memory.hpp"
#include "capture/blocked_reader.hpp"
#include "sandbox/filtered.hpp"
#include "sandbox/isolation.hpp"
#include "sandbox/seccomp_probe.hpp"
#include "sandbox/thread_storage.hpp"

namespace flameprobe {
namespace {

constexpr std::uint64_t millisecond = 1'000'000, second = 1'000'000'000;
constexpr std::uint64_t flush_every_ns = 100 * millisecond;  // a kill loses at most this much
constexpr std::uint64_t clocks_every_ns = flush_every_ns / 2;
constexpr std::uint64_t look_every_ns = second;
constexpr std::uint64_t hurry_for_ns = second;
constexpr std::uint64_t longest_birth_ns = 3 * millisecond;
constexpr std::uint32_t last_requests = request_finish | request_leave | request_retire;
constexpr const char* ended_for_signal =
    "sampling ended where the program took away the signal that the engine needs: FLAMEPROBE_ENGINE=ring needs none";
constexpr const char* ended_for_filter =
    "sampling ended where the program put all its threads into a seccomp filter that kills for what the collector does";
constexpr const char* ended_for_return =
    "sampling ended where the program entered a seccomp filter in which no signal handler can return (rt_sigreturn): "
    "FLAMEPROBE_ENGINE=ring needs none";

}  // namespace

Collector::Collector(const Options& options, PathFacts paths, OlderResults older, Log& log)
    : options_(options), paths_(std::move(paths)), older_(older), log_(log), rotation_(options.most_bytes) {}

bool Collector::launch() {
    const AllSignalsBlocked blocked;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);  // the host's RLIMIT_STACK may be anything
    pthread_t thread;
    const int failed = pthread_create(&thread, &attributes, &Collector::thread_main, this);
    pthread_attr_destroy(&attributes);
    return failed == 0;
}

void Collector::wait_at_birth(std::uint32_t start_ticket) {
    birth_ = Birth{start_ticket, monotonic_ns(), host_cpu_ns()};
    waits_at_birth_ = true;
}

// What the child uses meanwhile is not sampled, but put down at the end like all that is shorter than a period: it is a
// sixteenth of one, unless this thread is woken late.
bool Collector::outlives_birth() {
    if (!waits_at_birth_) return true;
    const std::uint64_t period = second / options_.frequency;
    const std::uint64_t step = std::min(millisecond / 2, period / 16),
                        end = birth_->time_ns + std::min(longest_birth_ns, period / 4);
    std::optional<std::uint32_t> requests;
    do {  // at least once: the end may have been asked for before this thread ran
        requests = commands_.wait_for_more(birth_->start_ticket, step);
    } while (!requests && monotonic_ns() < end && host_cpu_ns() < birth_->process_ns + step);
    waits_at_birth_ = false;
    return !requests || (*requests & last_requests) == 0;
}

// Created joinable: what libc keeps for the thread must stay where a task takes that over.
void* Collector::thread_main(void* self) {
    auto* const collector = static_cast<Collector*>(self);
    if (collector->outlives_birth()) collector->prepare();
    if (collector->serve()) ::pthread_detach(::pthread_self());
    return nullptr;
}

void Collector::prepare() {
    may_leave_ = Task::possible() && !seccomp_kills_for({SYS_clone, SYS_pidfd_open, SYS_set_tid_address, SYS_tgkill,
                                                         SYS_setitimer, SYS_ppoll});
    commands_.set_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    ::prctl(PR_SET_NAME, "flameprobe");
    // Else its pauses would end together with the program's own timers, and looks come just after their waits.
    ::prctl(PR_SET_TIMERSLACK, 1);
    allocate_thread_storage();
    log_.hold();
    if (seccomp_kills_for({SYS_close_range, SYS_unshare, SYS_process_vm_readv})) {
        give_up("nothing is sampled: a seccomp filter would kill the process for what the collector does");
    } else {
        if (!isolate_this_thread()) {
            give_up(
                "nothing is sampled: neither close_range nor unshare is permitted, without which the collector's "
                "files would lie among the program's");
        }
        prepare_read_self();
    }
}

bool Collector::serve() {
    for (bool going_on = true; going_on;) {
        const std::uint32_t requests = carried_ != 0 ? std::exchange(carried_, 0) : commands_.take(pause_ns());
        task_.progress();
        try {
            const bool starts = (requests & (request_start | request_toggle)) != 0 && (requests & last_requests) == 0;
            if (may_leave_ && !sampling() && starts && !broken_ && open() && engine_.source->facts().works_outside &&
                (!options_.off_cpu() || may_read_from_outside())) {
                carried_ = requests;
                may_leave_ = false;
                thread_used_ns_ = read_clock(CLOCK_THREAD_CPUTIME_ID);
                commands_.set_tid(0);  // a thread that is about to end says nothing of the collector
                if (task_.take_over([this] { go_on_as_task(); })) return false;
                commands_.set_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
                continue;
            }
            if (is_task() && host_is_over()) {
                host_ends_ = true;
                finish();
                return true;
            }
            if (sampling()) {
                poll();
            } else {
                end_with_last_thread();
            }
            going_on = handle(requests);
            if (sampling() || broken_) is_settled_ = true;
        } catch (const std::exception& error) {
            const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
            give_up(no_memory ? "sampling ends: there is no memory left for it: raise the limit (ulimit -v) or lower "
                                "FLAMEPROBE_STACK"
                              : std::string("sampling ends: ") + error.what());
            going_on = (requests & last_requests) == 0 && !ends_before_filter();
        }
        commands_.answer();
    }
    return true;
}

void Collector::go_on_as_task() {
    is_task_ = true;
    is_settled_ = true;
    commands_.set_task(&task_);
    commands_.set_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    serve();
}

// What kills the host, or replaces its image, does not reach the task: it has the memory still.
bool Collector::host_is_over() {
    return task_.host_ended() || (sampling() && engine_.source->over() && task_.host_has_other_image());
}

bool Collector::handle(std::uint32_t requests) {
    if ((requests & last_requests) != 0) requests &= ~std::uint32_t{request_start};
    if ((requests & request_toggle) != 0) requests |= sampling() ? request_stop : request_start;
    if ((requests & request_start) != 0) start();
    if ((requests & request_yield) != 0 && sampling()) give_up_signal();
    if ((requests & request_stop) != 0) stop();
    if ((requests & request_flush) != 0 && sampling() && records()) {
        drain();
        flush();
        recording_->drop_empty_file();
    }
    if ((requests & request_secure) != 0) secure();
    if ((requests & request_credentials) != 0 && is_task()) task_.follow_credentials();
    if ((requests & request_dump) != 0) dump();
    if ((requests & request_finish) != 0) {
        host_ends_ = true;
        if (host_is_filtered && !is_task()) tell_of_end();
    }
    if ((requests & (request_finish | request_retire)) != 0) finish();
    if ((requests & request_retire) != 0) {
        engine_.source.reset();
        recording_.reset();
    }
    if ((requests & request_leave) != 0) leave();
    if ((requests & request_filter) != 0) before_filter();
    return (requests & last_requests) == 0 && !ends_before_filter();
}

std::uint64_t Collector::pause_ns() const {
    constexpr std::uint64_t unwoken_ns = 4 * millisecond;  // no thread can wake it: see filtered.hpp
    return host_is_filtered ? std::min(wanted_pause_ns(), unwoken_ns) : wanted_pause_ns();
}

std::uint64_t Collector::wanted_pause_ns() const {
    if (!sampling()) return 2 * second;
    const std::uint64_t fill = std::max(engine_.source->facts().fill_ns, 4 * millisecond);
    if (!recording_) return std::min(fill / 4, flush_every_ns);
    if (monotonic_ns() < hurry_until_ns_) return millisecond;
    const bool idle = samples_before_ == recording_->samples();
    return std::min({idle ? fill / 2 : fill / 4, flush_every_ns, recording_->until_look_ns()});
}

bool Collector::open() {
    if (engine_.source) return true;
    auto engine = open_engine(options_);
    if (!engine) {
        give_up(engine.error().message);
        return false;
    }
    engine_ = std::move(*engine);
    if (!engine_.warning.empty()) log_.warning(engine_.warning);
    const auto& facts = engine_.source->facts();
    attaches_threads_ = facts.handlers;
    told_note_ = facts.note;
    if (!facts.note.empty() && engine_.reason.find(facts.note) == std::string::npos)
        engine_.reason += "; " + facts.note;
    log_.message("engine " + facts.engine + " (" + engine_.reason + "), " + std::to_string(facts.frequency) +
                 " samples a second");
    return true;
}

void Collector::start() {
    if (sampling() || broken_ || !open()) return;
    if (recorded_later()) {
        not_recorded_since_ = count_from_now();
    } else if (birth_) {
        const auto since = count_from_now();
        begin_profile(since.time_ns);
        if (broken_) return;  // the spool is refused
        if (auto resumed = recording_->resume_from(since); !resumed) return give_up(resumed.error().message);
    } else {
        if (!recording_) begin_profile(monotonic_ns());
        if (broken_) return;
        if (auto resumed = recording_->resume(); !resumed) return give_up(resumed.error().message);
    }
    if (auto started = engine_.source->start(); !started) return give_up(started.error().message);
    sampling_.store(true, std::memory_order_relaxed);
    last_flush_ns_ = last_clocks_ns_ = last_look_ns_ = monotonic_ns();
}

// A forked child works on while its collector starts. What that used as a thread of the child is not the child's.
Recording::CountedTo Collector::count_from_now() {
    const auto birth = std::exchange(birth_, std::nullopt);
    auto since = Recording::count_from_now(birth.has_value());
    if (!birth) return since;
    since.time_ns = birth->time_ns;
    since.process_ns = birth->process_ns + (is_task() ? thread_used_ns_ : 0);
    if (!is_task()) since.own_ns = 0;
    for (auto& reading : since.threads) reading.second = birth->process_ns;
    return since;
}

// Names, tables and files cost more than a process of a millisecond uses: they begin with the first sample. Not where
// something else than samples is told, at any time: windows, waits; nor without /proc, which is said at the start,
// since a host that dies says nothing any more.
bool Collector::recorded_later() const {
    return !recording_ && is_task() && options_.dump_every_ns == 0 && !options_.off_cpu() &&
           !engine_.source->has_samples() && engine_.source->facts().earlier_threads == 0 &&
           ::access("/proc/self/task", F_OK) == 0;
}

bool Collector::records() {
    if (not_recorded_since_ &&
        (engine_.source->has_samples() || host_cpu_ns() >= not_recorded_since_->process_ns + options_.least_cpu_ns))
        record_from_start();
    return recording_ != nullptr;
}

void Collector::record_from_start() {
    if (!not_recorded_since_) return;
    const auto since = *std::exchange(not_recorded_since_, std::nullopt);
    begin_profile(since.time_ns);
    if (auto resumed = recording_->resume_from(since); !resumed) give_up(resumed.error().message);
}

void Collector::stop() {
    if (!sampling()) return;
    sampling_.store(false, std::memory_order_relaxed);
    engine_.source->stop();
    if (!records()) return not_recorded_since_.reset();
    recording_->pause();
    drain();
    tell_of_engine();
    flush();
}

void Collector::drain() {
    const std::uint64_t began = monotonic_ns();
    if (began >= last_clocks_ns_ + clocks_every_ns) {
        recording_->read_clocks();
        last_clocks_ns_ = began;
    }
    std::vector<EndedThread> ended;
    ended_threads_.take(ended);
    engine_.source->drain(recording_->sink());
    recording_->settle(began);
    recording_->threads_ended(std::move(ended));
    if (recording_->sees_brief_threads()) engine_.source->vary_first_samples();
    // A stack deeper than the copy must be read before its owner changes it.
    if (recording_->wants_faster_drain()) hurry_until_ns_ = began + hurry_for_ns;
}

void Collector::poll() {
    const std::uint64_t now = monotonic_ns();
    if (now - last_look_ns_ >= look_every_ns) {
        tell_of_engine();
        end_with_last_thread();
        if (is_task()) task_.follow_credentials();
        last_look_ns_ = now;
    }
    if (records() && sampling()) record();
}

void Collector::record() {
    samples_before_ = recording_->samples();
    drain();
    recording_->look([this] { drain(); });
    tell_of_waits();
    const std::uint64_t now = monotonic_ns();
    if (now + wanted_pause_ns() >= last_flush_ns_ + flush_every_ns) {  // else the next look would be too late
        flush();
        if (sampling() && recording_->outgrown()) next_part();
    }
    if (options_.dump_every_ns != 0 && now >= next_dump_ns_) next_profile();
}

void Collector::say(const std::string& sentence) {
    log_.warning(sentence);
    if (recording_) recording_->remark(sentence);
}

void Collector::tell_of_waits() {
    if (recording_->too_many_switches()) {
        engine_.source->stop_switches();
        recording_->go_on_by_looks(monotonic_ns());
        say("threads leave their CPUs more than 50,000 times a second: from here on how long they wait is told by "
            "looks "
            "alone, without preemption");
    }
    if (told_of_waits_ || recording_->off_cpu_problem().empty()) return;
    told_of_waits_ = true;
    say("where some threads wait is not known: " + recording_->off_cpu_problem());
}

// What an engine could not go on with is said when it happens, and in the profile.
void Collector::tell_of_engine() {
    const std::string& note = engine_.source->facts().note;
    if (note == told_note_) return;
    told_note_ = note;
    say(note);
}

// Threads that end by the system call rather than through libc: where none but the collector is left, the kernel would
// have ended the process, with the status that the main thread left behind.
void Collector::end_with_last_thread() {
    if (is_task()) return;
    const auto main_thread = static_cast<std::uint32_t>(::getpid());
    if (!has_ended(main_thread) || list_threads().size() != 2) return;
    finish();
    ::syscall(SYS_exit, 0);
}

void Collector::flush() {
    last_flush_ns_ = monotonic_ns();
    if (auto flushed = recording_->flush(); !flushed) give_up(flushed.error().message);
}

void Collector::secure() {
    if (!sampling()) return;
    record_from_start();
    if (!sampling()) return;
    drain();  // the thread's stack is known from then on
    if (auto secured = recording_->secure(); !secured) give_up(secured.error().message);
}

void Collector::give_up(const std::string& why) {
    log_.warning(why);
    if (!broken_) why_not_ = why;  // host threads read it from then on
    if (sampling()) engine_.source->stop();
    sampling_.store(false, std::memory_order_relaxed);
    broken_ = true;
}

void Collector::give_up_signal() {
    if (engine_.source->go_on_without_signals("the program took away the signal")) return tell_of_engine();
    say(ended_for_signal);
    stop();
}

void Collector::before_filter() {
    if (is_task()) return;  // a filter is a thread group's
    const bool for_all = (filter_flags & SECCOMP_FILTER_FLAG_TSYNC) != 0;
    if (for_all && filter_would_kill(filter_program, filter_flags)) return end_before_filter();
    if (!attaches_threads_ || broken_ || lets_handlers_return(filter_program, filter_flags)) return;
    if (engine_.source &&
        engine_.source->go_on_without_signals("in the program's seccomp filter no handler can return"))
        return;
    if (recording_) recording_->remark(ended_for_return);
    stop();
    give_up(ended_for_return);
}

// The kernel tells when the thread is no more (set_tid_address(2)): the host can wait for that without a system call.
// libc used that word to learn the same: it never frees the thread's stack, a mebibyte.
void Collector::tell_of_end() {
    thread_alive_.store(1, std::memory_order_release);
    ::syscall(SYS_set_tid_address, &thread_alive_);
}

// The filter will be this thread's too, and any system call after that the process's end. So all is written now.
void Collector::end_before_filter() {
    tell_of_end();
    say(ended_for_filter);
    finish();
}

// What was opened here is closed with this thread's descriptor table, and opened again by its successor.
void Collector::leave() {
    stop();
    engine_.source.reset();
    if (!recording_) return;
    if (auto suspended = recording_->suspend(); !suspended) give_up(suspended.error().message);
}

}  // namespace flameprobe
