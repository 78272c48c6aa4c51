#include "collect/pipeline.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/self_memory.hpp"
#include "collect/read_waits.hpp"

namespace flameprobe {
namespace {

// How long a stack that goes on beyond its copy stays pending for the thread's next sample.
constexpr std::uint64_t least_patience_ns = 50'000'000, periods_of_patience = 5;
// How long one waits for more readings of live memory: a busy machine lets the host run little in that time.
constexpr std::uint64_t least_waiting_ns = 4'000'000'000, periods_of_waiting = 64;
constexpr std::uint64_t idle_ns = 10'000'000'000;

}  // namespace

constinit std::atomic<bool> Pipeline::scopes_seen_{false};

Pipeline::Pipeline(ProfileSink& sink, bool frame_pointers, std::uint64_t start_ns, std::uint64_t period_ns,
                   std::uint32_t pid, const CpuClocks& clocks)
    : sink_(sink),
      unwinder_(frame_pointers ? make_fp_unwinder(code_map_) : make_dwarf_unwinder(code_map_)),
      calls_(code_map_, unwinder_->modules()),
      scopes_(code_map_, UnwindTableMatch(code_map_, unwinder_->modules()), read_self),
      stacks_(sink, code_map_, start_ns),
      threads_(sink, clocks),
      ledger_(sink, stacks_, threads_, summary_, start_ns, period_ns),
      evidence_([this](const DeepSample& deep, bool whole) { decided(deep, whole); }),
      continuations_(
          [this](const DeepSample& deep, bool whole) { whole ? evidence_.add(deep) : decided(deep, false); }),
      start_ns_(start_ns),
      period_ns_(period_ns),
      pid_(pid) {
    threads_.find(pid);  // the main thread is number 0
}

void Pipeline::take(const Record& record) {
    if (also_ != nullptr) also_->take(record);
    std::visit([this](const auto& kind) { on(kind); }, record);
}

void Pipeline::on(const RawMapping& raw) {
    CodeRegion region = region_of(raw, code_map_);
    if (region.kind == RegionKind::file && is_jit_dump(region.path)) stacks_.add_jit_dump(region.path);
    code_map_.add(std::move(region));
}

void Pipeline::on(const ThreadStarted& thread) {
    if (thread.tid != pid_) threads_.started(thread.tid, thread.parent_tid);
}

void Pipeline::on(const ThreadEnded& thread) { threads_.ended(thread.tid); }

void Pipeline::on(const Throttled& throttled) {
    if (throttled.event == 0) {
        ++summary_.throttled;
    } else if (throttled.event <= more_events_.size()) {
        ++summary_.counters["times the kernel slowed down " + more_events_[throttled.event - 1]];
    }
}

void Pipeline::on(const TimeNotSampled& time) {
    if (period_ns_ == 0) return;
    ledger_.note(time.in_kernel ? Note::kernel_not_permitted : Note::lost, threads_.find(time.tid), time.cpu_ns);
}

void Pipeline::on(const SamplesLost& lost) {
    if (lost.event == 0) return ledger_.lost(lost.weight);
    if (lost.event > more_events_.size()) return;
    event_sample(first_event_ + lost.event - 1,
                 {monotonic_ns(), threads_.unknown(), stacks_.of_note(Note::lost), lost.weight, 0});
}

Sample Pipeline::sample_at(const RawSample& raw) {
    return {.time_ns = since_start(raw.time_ns), .thread = threads_.find(raw.tid)};
}

void Pipeline::on(const TimeSample& raw) {
    if (raw.pid != pid_) return;  // a child that the kernel let inherit: it has its own session
    Sample sample = sample_at(raw);
    sample.weight = ledger_.sampled(sample.thread, raw.weight);

    walk_copy(raw);
    if (walk_.end == WalkEnd::truncated) return deep_sample(raw, sample);
    find_labels_in_copy(raw);
    summary_.frames += walk_.frames.size() + raw.kernel_chain.size();
    const bool whole = is_whole("ended: ");
    in_haste_ = in_haste_ || in_no_mapping();
    if (whole && raw.has_registers) {
        continuations_.saw_whole(sample.thread, walk_.frames, raw.time_ns);
        evidence_.was_elsewhere(sample.thread);
    }
    if (const std::size_t frames = walk_.frames.size(); whole && frames > 2 && raw.tid != pid_)
        ledger_.learn_root(walk_.frames[frames - 2].address, walk_.frames[frames - 1].address);
    sample.stack = stacks_.intern(walk_.frames, whole, labels_, raw.kernel_chain,
                                  raw.in_system_call ? stacks_.call_of(walk_.frames) : 0);
    write(sample, whole, threads_.shown(sample.thread));
}

// Without registers there are no frames, and nothing is missing.
void Pipeline::walk_copy(const RawSample& raw) {
    walk_.frames.clear();
    labels_.clear();
    walk_.end = WalkEnd::root;
    if (raw.has_registers) unwinder_->walk(raw.registers, {raw.registers.sp(), raw.stack}, nullptr, walk_);
}

/// Whether the last walk is; if not, why is counted.
bool Pipeline::is_whole(const char* counter) {
    met_unknown_code_ = met_unknown_code_ || walk_.end == WalkEnd::bad_return;
    if (walk_.end == WalkEnd::root) return true;
    ++summary_.counters[std::string(counter).append(describe(walk_.end))];
    return false;
}

void Pipeline::find_labels_in_copy(const RawSample& raw) {
    if (raw.has_registers) find_labels({raw.registers.sp(), raw.stack}, nullptr);
}

void Pipeline::more_events(EventId first, std::vector<std::string> names) {
    first_event_ = first;
    more_events_ = std::move(names);
}

void Pipeline::on(const EventSample& raw) {
    if (raw.pid != pid_ || raw.event > more_events_.size()) return;
    Sample sample = sample_at(raw);
    walk_copy(raw);
    find_labels_in_copy(raw);
    sample.weight = raw.weight;
    sample.stack = stacks_.intern(walk_.frames, walk_.end == WalkEnd::root, labels_, raw.kernel_chain, 0);
    has_more_events_ = true;
    sample.thread = threads_.shown(sample.thread);
    sink_.event_sample(first_event_ + raw.event - 1, sample);
}

StackId Pipeline::stack_of(const RawSample& raw, std::uint64_t own_begin, std::uint64_t own_end) {
    walk_copy(raw);
    find_labels_in_copy(raw);
    std::size_t own = 0;
    while (own < walk_.frames.size() && walk_.frames[own].address >= own_begin && walk_.frames[own].address < own_end)
        ++own;
    for (StackLabel& label : labels_) label.frame -= std::min<std::size_t>(label.frame, own);
    return stacks_.intern(std::span(walk_.frames).subspan(own), is_whole("allocations ended: "), labels_, {}, 0);
}

// Code that was unloaded before its mapping was read (engines without perf records): it may be loaded again.
bool Pipeline::in_no_mapping() const {
    return walk_.frames.size() == 1 && walk_.frames.front().region == CodeFrame::no_region;
}

void Pipeline::deep_sample(const TimeSample& raw, Sample sample) {
    const StackCopy copy{raw.registers.sp(), raw.stack};
    DeepSample deep{
        .sample = sample, .shown = threads_.shown(sample.thread), .time_ns = raw.time_ns, .came_ns = monotonic_ns()};
    live_.begin(copy);
    deep.proven = walk_.frames_in_copy;
    const bool refuted = evidence_.refutes(sample.thread, walk_);
    bool extended = !refuted && continuations_.extend(sample.thread, walk_);
    if (extended && evidence_.wants_look(sample.thread, walk_, deep.came_ns)) {
        std::swap(walk_, continued_);
        unwinder_->walk(raw.registers, copy, &live_, walk_);
        if (memory_continues()) evidence_.looked(sample.thread, walk_, deep.came_ns);
        std::swap(walk_, continued_);
        live_.begin(copy);
    }
    if (extended) {
        walk_.beyond_end = walk_.frames.back().cfa;
    } else if (!refuted) {
        unwinder_->walk(raw.registers, copy, &live_, walk_);
        deep.proven = walk_.frames_in_copy;
        if (memory_continues()) {
            deep.read_ns = monotonic_ns();
            evidence_.looked(sample.thread, walk_, deep.read_ns);
            extended = continuations_.agrees_with_last(sample.thread, walk_);
        }
    }
    deep.system_call = raw.in_system_call ? stacks_.call_of(walk_.frames) : 0;
    find_labels(copy, scopes_seen() || live_.read_any() ? &live_ : nullptr);
    summary_.frames += walk_.frames.size() + raw.kernel_chain.size();
    if (!extended && deep.read_ns == 0) walk_.frames.resize(deep.proven);
    in_haste_ = in_haste_ || !(extended || refuted);
    deep.frames = walk_.frames;
    deep.labels = labels_;
    deep.kernel_chain.assign(raw.kernel_chain.begin(), raw.kernel_chain.end());
    refuted ? decided(deep, false) : continuations_.add(std::move(deep), extended);
}

// Whether live memory is plausible by itself: it leads to the start of the thread, the copy's end is still in place,
// and every frame beyond the copy called the one below it.
bool Pipeline::memory_continues() {
    if (walk_.end != WalkEnd::root || !live_.copy_still_true()) return false;
    for (std::size_t at = std::max<std::size_t>(walk_.frames_in_copy, 1); at < walk_.frames.size(); ++at) {
        if (!calls_.follows_call(walk_.frames[at].address + 1, walk_.frames[at - 1].address)) return false;
    }
    return true;
}

void Pipeline::decided(const DeepSample& deep, bool whole) {
    ++(whole ? summary_.continued : summary_.continuation_rejected);
    Sample sample = deep.sample;
    const auto frames = std::span(deep.frames).first(whole ? deep.frames.size() : deep.proven);
    sample.stack = stacks_.intern(frames, whole, deep.labels, deep.kernel_chain, deep.system_call);
    write(sample, whole, deep.shown);
}

void Pipeline::settle(std::uint64_t now_ns) {
    live_.new_round();
    const std::uint64_t patience = std::max(least_patience_ns, periods_of_patience * period_ns_);
    const std::uint64_t waiting = std::max(least_waiting_ns, periods_of_waiting * period_ns_);
    const auto before = [&](std::uint64_t ns) { return now_ns > ns ? now_ns - ns : 0; };
    continuations_.give_up(before(patience), before(idle_ns));
    evidence_.settle(before(waiting));
}

void Pipeline::write(Sample sample, bool whole, ThreadId shown) {
    threads_.sampled_at(sample.thread, sample.stack);
    if (sample.weight == 0) return;  // taken at the count of the one before
    if (tell_sample_) tell_sample_(sample.thread, sample.stack, sample.time_ns);
    summary_.samples += sample.weight;
    summary_.hits += sample.hits;
    if (!whole) summary_.truncated_hits += sample.hits;
    (whole ? summary_.rooted : summary_.truncated) += sample.weight;
    sample.thread = shown;
    sink_.sample(sample);
}

StackId Pipeline::last_stack(std::uint32_t tid) const {
    const auto thread = threads_.known(tid);
    return thread ? threads_.last_stack(*thread) : 0;
}

ThreadId Pipeline::thread_of(std::uint32_t tid, bool create) {
    if (const auto known = threads_.known(tid)) return *known;
    return create ? threads_.find_late(tid) : threads_.unknown();
}

void Pipeline::event_sample(EventId event, Sample sample) {
    sample.time_ns -= std::min(sample.time_ns, start_ns_);
    sink_.event_sample(event, sample);
}

StackId Pipeline::same_stack(const Pipeline& before, StackId stack) {
    return stacks_.same_stack(before.stacks_, stack, [&](std::uint32_t text) {
        const std::string& wanted = before.scope_texts_.at(text);
        const auto known = std::ranges::find(scope_texts_, wanted,
                                             [](const auto& entry) -> const std::string& { return entry.second; });
        return known != scope_texts_.end() ? known->first : add_scope_text(wanted);
    });
}

StackId Pipeline::named_above(StackId parent, const CodeName& frame) {
    return stacks_.named_above(parent, frame, strings_);
}

std::uint32_t Pipeline::add_scope_text(const std::string& text) {
    scope_texts_.emplace(strings_, text);
    sink_.string(strings_, text);
    return strings_++;
}

StackId Pipeline::blocked_stack(const BlockedThread& thread, bool& whole) {
    constexpr std::size_t first = 8 * 1024, most = 60 * 1024;
    blocked_copy_.resize(most);
    StackCopy copy{thread.sp,
                   std::span(blocked_copy_).first(read_self(thread.sp, std::span(blocked_copy_).first(first)))};
    live_.begin(copy);
    unwinder_->walk_blocked(thread.pc, thread.sp, copy, &live_, walk_);
    whole = is_whole("off-CPU ended: ");
    met_unknown_code_ = met_unknown_code_ || in_no_mapping();
    if (live_.read_any()) copy.bytes = std::span(blocked_copy_).first(read_self(thread.sp, blocked_copy_));
    labels_.clear();
    find_labels(copy, live_.read_any() ? &live_ : nullptr);
    return stacks_.intern(walk_.frames, whole, labels_, {}, stacks_.note_of(WaitReasons::call_text(thread.call)));
}

void Pipeline::find_labels(StackCopy copy, StackBeyond* beyond) {
    scopes_.find(copy, walk_, beyond, placed_);
    if (!placed_.empty()) scopes_seen_.store(true, std::memory_order_relaxed);
    for (const auto& scope : placed_) {
        const auto [known, is_new] = text_of_label_.try_emplace(scope.label->id, strings_);
        if (is_new) add_scope_text(scope.label->text);
        labels_.push_back({scope.frame, known->second});
    }
}

std::size_t Pipeline::memory() const {
    constexpr std::size_t node = 48;  // of a hash table with small entries, its bucket included
    return stacks_.memory() + unwinder_->statistics().memory + continuations_.memory() + evidence_.memory() +
           scopes_.memory() + threads_.memory() + ledger_.memory() + text_of_label_.size() * 3 * node +
           blocked_copy_.capacity();
}

}  // namespace flameprobe
