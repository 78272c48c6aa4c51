#include "capture/thread_rings.hpp"

#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/perf_record.hpp"

namespace flameprobe {
namespace {
std::uint64_t seed_of(std::uint32_t tid) { return hash_pair(tid, static_cast<std::uint32_t>(monotonic_ns())); }

void* as_argument(std::uint64_t& value) { return &value; }

// With cpu-clock it hangs Linux 6.16 and 6.17 (async-profiler#1578).
bool may_refresh() {
    utsname system{};
    if (::uname(&system) != 0) return true;
    const std::string_view release = system.release;
    return !release.starts_with("6.16.") && !release.starts_with("6.17.");
}

std::uint64_t time_of_next(RingBuffer& ring) {
    const auto record = ring.peek();
    if (record.empty()) return ~std::uint64_t{0};
    return record_time(record, reinterpret_cast<const perf_event_header*>(record.data())->type);
}

ThreadRings::Opened refused(int error) {
    using Outcome = ThreadRings::Outcome;
    if (error == ESRCH) return {Outcome::gone};
    return {error == EMFILE ? Outcome::no_descriptor : Outcome::refused, explain_refusal(error)};
}

/// All of the thread's events but its own.
void control_others(const ThreadEvents& thread, unsigned long request) {
    if (thread.switches) ::ioctl(thread.switches.get(), request, 0);
    for (const auto& ring : thread.more) ::ioctl(ring.event.get(), request, 0);
    for (const auto& event : thread.beside) ::ioctl(event.get(), request, 0);
}

}  // namespace

ClockRate clock_rate(const perf_event_attr& attributes) {
    if (!is_clock(attributes)) return {};
    const auto limit = read_sysctl("/proc/sys/kernel/perf_event_max_sample_rate");
    return {.period_ns = attributes.sample_period,
            .least_ns = limit && *limit > 0 ? ns_per_second / static_cast<std::uint64_t>(*limit) : 0,
            .user_only = attributes.exclude_kernel != 0,
            .one_shots = may_refresh()};
}

bool ThreadRings::begin_again_smaller() {
    if (!sizes_.plan_smaller(size())) return false;
    while (all_.size() > 1) {
        by_tid_.erase(all_.back()->tid);
        all_.pop_back();
    }
    return true;
}

Result<void> ThreadRings::open_main(const ThreadEventSettings& settings, std::uint64_t frequency, std::uint32_t tid,
                                    bool at_once) {
    settings_ = settings;
    sizes_ = RingSizes(frequency, settings_.own.sample_stack_user);
    enabled_ = at_once;
    const auto opened = add(tid, false);
    if (opened.outcome != Outcome::opened) return Error{opened.why.empty() ? explain_refusal(ESRCH) : opened.why};
    return {};
}

ThreadEvents* ThreadRings::find(std::uint32_t tid) const {
    const auto found = by_tid_.find(tid);
    return found == by_tid_.end() ? nullptr : found->second;
}

ThreadRings::Opened ThreadRings::add(std::uint32_t tid, bool brief, NewThreadShare share) {
    if (ThreadEvents* const before = find(tid)) forget(*before);
    auto thread = std::make_unique<ThreadEvents>();
    thread->tid = tid;
    thread->stands_for = share.stands_for;
    if (settings_.rate.period_ns != 0)
        thread->clock = ThreadClock(settings_.rate, brief, seed_of(tid), share.reach_ns());
    Opened opened{Outcome::no_memory};
    for (std::size_t step = sizes_.first(size()); step < RingSizes::steps && opened.outcome == Outcome::no_memory;
         ++step) {
        opened = open(*thread, sizes_.of(step, size(), brief, thread->clock.reaches()));
        if (opened.outcome == Outcome::no_memory) sizes_.refused(step);
    }
    if (opened.outcome != Outcome::opened) return opened;
    if (enabled_ && thread->clock.one_shot()) ::ioctl(thread->own.event.get(), PERF_EVENT_IOC_REFRESH, 1);
    by_tid_[tid] = thread.get();
    all_.push_back(std::move(thread));
    return opened;
}

ThreadRings::Opened ThreadRings::map(ThreadEvents::Ring& ring, std::size_t bytes, std::size_t least) {
    auto mapped = RingBuffer::map(ring.event.get(), bytes, least);
    if (!mapped) return {errno == EPERM ? Outcome::no_memory : Outcome::refused, mapped.error().message};
    ring.ring = std::move(*mapped);
    return {};
}

ThreadRings::Opened ThreadRings::open(ThreadEvents& thread, RingSizes::Size size) {
    perf_event_attr attr = settings_.own;
    attr.wakeup_watermark = static_cast<std::uint32_t>(size.bytes);  // not polled: the collector has a timer
    attr.sample_stack_user = size.stack;
    attr.disabled = enabled_ ? 0 : 1;  // to enable it later interrupts the CPU that has the thread
    if (settings_.rate.period_ns != 0) attr.sample_period = thread.clock.period_ns();
    auto event = open_alike(attr, thread.tid, -1);
    if (!event) return refused(errno);
    if (!leaves_descriptors(*event)) return refused(EMFILE);
    thread.own = {std::move(*event), {}, 0};
    if (auto mapped = map(thread.own, size.bytes, size.bytes); mapped.outcome != Outcome::opened) return mapped;
    if (settings_.switches) {
        perf_event_attr beside = *settings_.switches;
        beside.wakeup_watermark = attr.wakeup_watermark;
        beside.disabled = attr.disabled;
        auto switches = open_alike(beside, thread.tid, -1);
        if (switches && ::ioctl(switches->get(), PERF_EVENT_IOC_SET_OUTPUT, thread.own.event.get()) == 0)
            thread.switches = std::move(*switches);
    }
    thread.more.clear();
    for (std::size_t i = 0; i < settings_.more.size(); ++i) {
        perf_event_attr other = settings_.more[i];
        other.sample_stack_user = std::min(other.sample_stack_user, size.stack);
        other.disabled = attr.disabled;
        auto opened = open_alike(other, thread.tid, -1);
        if (!opened) continue;
        ThreadEvents::Ring ring{std::move(*opened), {}, static_cast<std::uint32_t>(i + 1)};
        const std::size_t least = RingSizes::bytes_for(1, other.sample_stack_user);
        if (map(ring, std::max(size.bytes, least), least).outcome == Outcome::opened)
            thread.more.push_back(std::move(ring));
    }
    return {};
}

std::size_t ThreadRings::bytes() const {
    std::size_t bytes = 0;
    for (const auto& thread : all_) {
        bytes += thread->own.ring.bytes();
        for (const auto& ring : thread->more) bytes += ring.ring.bytes();
    }
    return bytes;
}

void ThreadRings::enable(const ThreadEvents& thread) {
    control_others(thread, PERF_EVENT_IOC_ENABLE);
    const bool once = thread.clock.one_shot();
    ::ioctl(thread.own.event.get(), once ? PERF_EVENT_IOC_REFRESH : PERF_EVENT_IOC_ENABLE, once ? 1 : 0);
}

bool ThreadRings::enable() {
    const bool again = std::exchange(until_ns_, for_ever) != for_ever;
    if (std::exchange(enabled_, true)) return !all_.empty();  // by open_main()
    for (const auto& thread : all_) {
        if (again) go_on(*thread);
        enable(*thread);
    }
    return !all_.empty();
}

void ThreadRings::disable(bool for_good) {
    enabled_ = false;
    for (const auto& thread : all_) {
        if (for_good) break;
        control_others(*thread, PERF_EVENT_IOC_DISABLE);
        ::ioctl(thread->own.event.get(), PERF_EVENT_IOC_DISABLE, 0);
    }
    until_ns_ = monotonic_ns();
}

// After a pause a settled clock goes on where it was. A brief thread's life begins again: it may be an idle one of
// many, which uses less than a period until the next pause.
void ThreadRings::go_on(ThreadEvents& thread) {
    if (!thread.clock.brief() || thread.inherited) return;
    thread.clock = ThreadClock(settings_.rate, true, seed_of(thread.tid));
    std::uint64_t period = thread.clock.period_ns();
    ::ioctl(thread.own.event.get(), PERF_EVENT_IOC_RESET, 0);
    ::ioctl(thread.own.event.get(), PERF_EVENT_IOC_PERIOD, as_argument(period));
}

std::optional<ThreadRings::Counts> ThreadRings::counts(const ThreadEvents& thread) {
    Counts counts;
    const auto got = ::read(thread.own.event.get(), &counts, sizeof counts);
    return got < static_cast<ssize_t>(sizeof counts.cpu_ns) ? std::nullopt : std::optional(counts);
}

// An event that has given its one sample does not count until it is enabled again.
void ThreadRings::settle(ThreadEvents& thread) const {
    std::uint64_t period = thread.clock.draw();
    if (::ioctl(thread.own.event.get(), PERF_EVENT_IOC_PERIOD, as_argument(period)) != 0) return;
    const auto count = counts(thread);
    if (!count) return;
    thread.clock.drawn(count->cpu_ns);
}

void ThreadRings::stop_switches() {
    settings_.switches.reset();
    for (const auto& thread : all_) thread->switches.reset();
}

bool ThreadRings::ended() const {
    return std::all_of(all_.begin(), all_.end(), [](const auto& thread) { return has_hung_up(thread->own.event); });
}

void ThreadRings::begin_round() {
    waiting_.clear();
    round_ns_ = std::min(monotonic_ns(), until_ns_);
    const auto begin = [this](ThreadEvents& thread, ThreadEvents::Ring& ring) {
        ring.ring.begin_round();
        if (const std::uint64_t time = time_of_next(ring.ring); time <= round_ns_)
            waiting_.push_back({time, {&thread, &ring}});
    };
    constexpr std::size_t ahead = 16;
    for (std::size_t at = 0; at < all_.size(); ++at) {
        if (at + ahead < all_.size()) all_[at + ahead]->own.ring.approach();
        begin(*all_[at], all_[at]->own);
        for (auto& ring : all_[at]->more) begin(*all_[at], ring);
    }
    std::make_heap(waiting_.begin(), waiting_.end());
}

ThreadRings::Next ThreadRings::oldest() const {
    return waiting_.empty() ? Next{nullptr, nullptr} : waiting_.front().next;
}

void ThreadRings::consume() {
    const Next next = waiting_.front().next;
    next.ring->ring.consume();
    std::pop_heap(waiting_.begin(), waiting_.end());
    const std::uint64_t time = time_of_next(next.ring->ring);
    if (time > round_ns_) return waiting_.pop_back();
    waiting_.back().time_ns = time;
    std::push_heap(waiting_.begin(), waiting_.end());
}

// An event that has given its one sample counts no more, but one beside it does: that is a tenth of a file's cost.
std::uint64_t ThreadRings::cpu_ns(const ThreadEvents& thread) {
    struct {
        std::uint64_t value, running_ns;
    } read{};
    if (thread.switches && ::read(thread.switches.get(), &read, sizeof read) == sizeof read) return read.running_ns;
    return host_thread_cpu_ns(thread.tid);
}

void ThreadRings::end_round() {
    constexpr std::uint64_t part_of_a_cpu = 400;  // that looks at threads' clocks may take
    const std::uint64_t look_every_ns =
        std::max(lives_on_ns(), std::exchange(sampled_once_, 0) * thread_cpu_cost_ns * part_of_a_cpu);
    any_brief_ = false;
    std::erase_if(all_, [](const auto& thread) { return thread->ended; });
    for (const auto& thread : all_) {
        ThreadClock& clock = thread->clock;
        if (settings_.rate.period_ns == 0 || !enabled_ || thread->inherited) continue;
        any_brief_ = any_brief_ || clock.brief();
        if (clock.reaches()) continue;  // what is left of its life has another event
        bool due = clock.wants_draw();
        sampled_once_ += clock.one_shot() ? 1 : 0;
        if (clock.one_shot() && round_ns_ >= thread->next_look_ns) {
            thread->next_look_ns = round_ns_ + look_every_ns;
            due = cpu_ns(*thread) >= clock.lives_on_ns();
        }
        if (!due) continue;
        const bool once = clock.one_shot();
        settle(*thread);
        thread->stands_for = 1;
        if (once) ::ioctl(thread->own.event.get(), PERF_EVENT_IOC_ENABLE, 0);
    }
}

void ThreadRings::forget(ThreadEvents& thread) {
    thread.ended = true;
    const auto found = by_tid_.find(thread.tid);
    if (found != by_tid_.end() && found->second == &thread) by_tid_.erase(found);
}

}  // namespace flameprobe
