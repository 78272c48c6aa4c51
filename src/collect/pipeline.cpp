#include "collect/pipeline.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/self_memory.hpp"
#include "collect/read_waits.hpp"
#include "collect/requests.hpp"

namespace flameprobe {

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
      deep_(*this, [this](DeepSample& deep, DeepStacks::Callers callers) { decided(deep, callers); }),
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

void Pipeline::sampled(std::uint32_t tid, std::uint64_t monotonic_ns) {
    if (requests_ != nullptr) requests_->sampled(tid, monotonic_ns);
}

Sample Pipeline::sample_at(const RawSample& raw) {
    sampled(raw.tid, raw.time_ns);
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
    DeepSample deep{.sample = sample, .shown = threads_.shown(sample.thread), .taken_ns = raw.time_ns};
    live_.begin(copy);
    const std::size_t copied = walk_.frames_in_copy;
    const std::uint64_t now_ns = monotonic_ns();
    const bool wants_look =
        (live_.lacks_pages() || live_.copy_still_true()) && deep_.wants_look(sample.thread, walk_, now_ns);
    // A scope beyond the copy is found in its function's frame.
    if (wants_look || scopes_seen()) {
        unwinder_->walk(raw.registers, copy, &live_, walk_);
        if (wants_look && memory_continues()) deep_.looked(sample.thread, raw.tid, walk_, now_ns);
    }
    deep.system_call = raw.in_system_call ? stacks_.call_of(walk_.frames) : 0;
    // One beyond is shown only where one in a copy names it. To look for it touches the pages that the kernel left out.
    const bool touches = live_.lacks_pages() && live_.read_any();
    find_labels(copy, scopes_seen() || touches ? &live_ : nullptr);
    deep.outer_scopes = scopes_.named_beyond();
    summary_.frames += walk_.frames.size() + raw.kernel_chain.size();
    deep.frames.assign(walk_.frames.begin(), walk_.frames.begin() + static_cast<std::ptrdiff_t>(copied));
    deep.labels = labels_;
    deep.kernel_chain.assign(raw.kernel_chain.begin(), raw.kernel_chain.end());
    deep_.add(std::move(deep));
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

std::uint64_t Pipeline::word(std::uint64_t address) {
    std::uint64_t word = 0;
    return read_self(address, std::as_writable_bytes(std::span(&word, 1))) == sizeof word ? word : 0;
}

void Pipeline::decided(DeepSample& deep, DeepStacks::Callers callers) {
    using Before = ProfileStacks::Before;
    const bool whole = callers == DeepStacks::Callers::known;
    if (whole) ++summary_.continued;
    if (callers == DeepStacks::Callers::not_known) ++summary_.continuation_rejected;
    if (callers != DeepStacks::Callers::not_known && !deep.outer_scopes.empty()) {
        scopes_.find_beyond(deep.outer_scopes, deep.frames, placed_);
        labels_.clear();
        add_placed();
        deep.labels.insert(deep.labels.begin(), labels_.begin(), labels_.end());
        const auto repeats = [&](const StackLabel& one, const StackLabel& next) {
            return one.frame == next.frame && one.text == next.text && one.frame < deep.frames.size() &&
                   deep.frames[one.frame].region == recursion_note.region;
        };
        deep.labels.erase(std::unique(deep.labels.begin(), deep.labels.end(), repeats), deep.labels.end());
    }
    Sample sample = deep.sample;
    const Before before = whole                                        ? Before::nothing
                          : callers == DeepStacks::Callers::read_later ? Before::read_later
                                                                       : Before::truncated;
    sample.stack = stacks_.intern(deep.frames, before, deep.labels, deep.kernel_chain, deep.system_call);
    write(sample, whole, deep.shown);
}

void Pipeline::settle(bool at_end) {
    live_.new_round();
    deep_.settle(monotonic_ns(), at_end);
    in_haste_ = in_haste_ || deep_.in_haste();
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
    add_placed();
}

void Pipeline::add_placed() {
    for (const auto& scope : placed_) {
        const auto [known, is_new] = text_of_label_.try_emplace(scope.label->id, strings_);
        if (is_new) add_scope_text(scope.label->text);
        labels_.push_back({scope.frame, known->second});
    }
}

std::size_t Pipeline::memory() const {
    constexpr std::size_t node = 48;  // of a hash table with small entries, its bucket included
    return stacks_.memory() + unwinder_->statistics().memory + deep_.memory() + scopes_.memory() + threads_.memory() +
           ledger_.memory() + text_of_label_.size() * 3 * node + blocked_copy_.capacity();
}

}  // namespace flameprobe
