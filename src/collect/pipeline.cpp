#include "collect/pipeline.hpp"

#include <algorithm>
#include <utility>

#include "base/base_name.hpp"
#include "base/clock.hpp"
#include "base/self_memory.hpp"
#include "collect/wait_reasons.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

// How long a stack that goes on beyond its copy stays pending for the thread's next sample.
constexpr std::uint64_t least_patience_ns = 50'000'000, periods_of_patience = 5;
constexpr std::uint64_t idle_ns = 10'000'000'000;

bool is_without_file(std::string_view path) {
    return path.empty() || path.starts_with('[') || path == "//anon" || path == "/anon_hugepage" ||
           path == "/dev/zero" || path.starts_with("/SYSV");
}

// Just-in-time compilers write into shared memory, too (PHP's, .NET's), which the kernel shows as files: shared
// anonymous memory as /dev/zero, System V's as /SYSV, and memfd's, which may also hold a library.
bool holds_no_file(const CodeRegion& region) {
    return is_without_file(region.path) ||
           (region.path.starts_with("/memfd:") && !ElfImage::from_memory(region).has_value());
}

}  // namespace

constinit std::atomic<bool> Pipeline::scopes_seen_{false};

Pipeline::Pipeline(ProfileSink& sink, bool frame_pointers, std::uint64_t start_ns, std::uint64_t period_ns,
                   std::uint32_t pid, const CpuClocks& clocks)
    : sink_(sink),
      unwinder_(frame_pointers ? make_fp_unwinder(code_map_) : make_dwarf_unwinder(code_map_)),
      calls_(code_map_),
      scopes_(code_map_),
      stacks_(sink, code_map_, start_ns),
      threads_(sink, clocks),
      ledger_(sink, stacks_, threads_, summary_, start_ns, period_ns),
      continuations_([this](const DeepSample& deep, bool whole) { decided(deep, whole); }),
      start_ns_(start_ns),
      period_ns_(period_ns),
      pid_(pid) {
    threads_.find(pid);  // the main thread is number 0
}

void Pipeline::mapping(const RawMapping& raw) {
    CodeRegion region;
    region.start = raw.start;
    region.end = raw.start + raw.size;
    region.file_offset = raw.file_offset;
    region.device = raw.device;
    region.inode = raw.inode;
    region.build_id = raw.build_id;
    const std::string_view path = without_deleted(raw.path);
    region.path = path;
    region.kind = path == "[vdso]" ? RegionKind::vdso : RegionKind::file;
    if (region.kind == RegionKind::file && holds_no_file(region)) {
        region.kind = RegionKind::anonymous;
        if (!region.path.starts_with('[')) region.path.clear();
    }
    if (region.kind == RegionKind::anonymous) recognize(region);
    if (region.kind == RegionKind::file && is_jit_dump(path)) stacks_.add_jit_dump(region.path);
    code_map_.add(std::move(region));
}

// Programs move their code to huge pages: in its place, and byte for byte. It may not be there yet: then a later change
// of the memory's permissions is told too.
void Pipeline::recognize(CodeRegion& region) const {
    region.file = code_map_.file_below(region);
    if (region.file == nullptr || !ElfImage::holds_code_of(*region.file)) return;
    CodeRegion file = *region.file;
    region = std::move(file);
}

void Pipeline::thread_name(std::uint32_t tid, std::string_view name) { threads_.renamed(tid, name); }
void Pipeline::thread_started(std::uint32_t tid, std::uint32_t parent, std::uint64_t time_ns) {
    if (switches_ != nullptr) switches_->thread_started(tid, time_ns);
    if (tid != pid_) threads_.started(tid, parent);
}
void Pipeline::switched(const RawSwitch& record) {
    if (switches_ != nullptr) switches_->switched(record);
}
void Pipeline::thread_ended(std::uint32_t tid, std::uint64_t time_ns) {
    if (switches_ != nullptr) switches_->thread_ended(tid, time_ns);
    threads_.ended(tid, time_ns);
    call_stacks_.forget(tid);
}
void Pipeline::throttled(std::uint64_t) { ++summary_.throttled; }

void Pipeline::unsampled(std::uint32_t tid, std::uint64_t cpu_ns, bool in_kernel) {
    if (period_ns_ != 0) ledger_.note(in_kernel ? Note::kernel_not_permitted : Note::lost, threads_.find(tid), cpu_ns);
}

void Pipeline::lost(std::uint64_t weight) {
    if (switches_ != nullptr) switches_->records_lost();
    ledger_.lost(weight);
}

void Pipeline::sample(const RawSample& raw) {
    if (raw.pid != pid_) return;  // a child that the kernel let inherit: it has its own session
    Sample sample;
    sample.time_ns = raw.time_ns > start_ns_ ? raw.time_ns - start_ns_ : 0;
    sample.thread = threads_.find(raw.tid);
    if (raw.event != 0) return sample_of_event(raw, sample);
    sample.weight = ledger_.sampled(sample.thread, raw.weight);

    walk_copy(raw);
    if (walk_.end == WalkEnd::truncated) return deep_sample(raw, sample);
    find_labels_in_copy(raw);
    summary_.frames += walk_.frames.size() + raw.kernel_chain.size();
    const bool whole = walk_.end == WalkEnd::root;
    in_haste_ = in_haste_ || in_no_mapping();
    met_unknown_code_ = met_unknown_code_ || walk_.end == WalkEnd::bad_return;
    if (whole && raw.has_registers) continuations_.saw_whole(sample.thread, walk_.frames, raw.time_ns);
    if (const std::size_t frames = walk_.frames.size(); whole && frames > 2 && raw.tid != pid_)
        ledger_.learn_root(walk_.frames[frames - 2].address, walk_.frames[frames - 1].address);
    sample.stack = stacks_.intern(walk_.frames, whole, labels_, raw.kernel_chain,
                                  raw.in_system_call ? stacks_.call_of(walk_.frames) : 0);
    if (!whole) ++summary_.counters["ended: " + std::string(describe(walk_.end))];
    write(sample, whole, threads_.shown(sample.thread));
    if (whole && raw.in_system_call) call_stacks_.add(raw.tid, sample);
}

// Without registers there are no frames, and nothing is missing.
void Pipeline::walk_copy(const RawSample& raw) {
    walk_.frames.clear();
    labels_.clear();
    walk_.end = WalkEnd::root;
    if (raw.has_registers) unwinder_->walk(raw.registers, {raw.registers.sp(), raw.stack}, nullptr, walk_);
}

void Pipeline::find_labels_in_copy(const RawSample& raw) {
    if (raw.has_registers) find_labels({raw.registers.sp(), raw.stack}, nullptr);
}

void Pipeline::more_events(EventId first, std::vector<std::string> names) {
    first_event_ = first;
    more_events_ = std::move(names);
}

void Pipeline::sample_of_event(const RawSample& raw, Sample sample) {
    if (raw.event > more_events_.size()) return;
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
    const bool whole = walk_.end == WalkEnd::root;
    met_unknown_code_ = met_unknown_code_ || walk_.end == WalkEnd::bad_return;
    if (!whole) ++summary_.counters["allocations ended: " + std::string(describe(walk_.end))];
    return stacks_.intern(std::span(walk_.frames).subspan(own), whole, labels_, {}, 0);
}

void Pipeline::event_lost(std::uint32_t event, std::uint64_t weight) {
    if (event > more_events_.size()) return;
    event_sample(first_event_ + event - 1,
                 {monotonic_ns(), threads_.unknown(), stacks_.of_note(Note::lost), weight, 0});
}

void Pipeline::event_throttled(std::uint32_t event) {
    if (event > more_events_.size()) return;
    ++summary_.counters["times the kernel slowed down " + more_events_[event - 1]];
}

// The last samples in system calls get at most as much again as they stand for; the rest remains without a stack.
void Pipeline::more_in_system_calls(std::uint32_t tid, std::uint64_t cpu_ns) {
    for (Sample sample : call_stacks_.share(tid, cpu_ns)) {
        sample.weight = ledger_.sampled(sample.thread, sample.weight);
        write(sample, true, threads_.shown(sample.thread));
    }
}

// Code that was unloaded before its mapping was read (engines without perf records): it may be loaded again.
bool Pipeline::in_no_mapping() const {
    return walk_.frames.size() == 1 && walk_.frames.front().region == CodeFrame::no_region;
}

void Pipeline::deep_sample(const RawSample& raw, Sample sample) {
    const StackCopy copy{raw.registers.sp(), raw.stack};
    DeepSample deep{
        .sample = sample, .shown = threads_.shown(sample.thread), .time_ns = raw.time_ns, .came_ns = monotonic_ns()};
    live_.begin(copy);
    deep.proven = walk_.frames_in_copy;
    bool extended = continuations_.extend(sample.thread, walk_);
    if (extended) {
        walk_.beyond_end = walk_.frames.back().cfa;
    } else {
        unwinder_->walk(raw.registers, copy, &live_, walk_);
        deep.proven = walk_.frames_in_copy;
        if (memory_continues()) {
            deep.read_ns = monotonic_ns();
            extended = continuations_.agrees_with_last(sample.thread, walk_);
        }
    }
    deep.system_call = raw.in_system_call ? stacks_.call_of(walk_.frames) : 0;
    find_labels(copy, scopes_seen() || live_.read_any() ? &live_ : nullptr);
    summary_.frames += walk_.frames.size() + raw.kernel_chain.size();
    if (!extended && deep.read_ns == 0) walk_.frames.resize(deep.proven);
    in_haste_ = in_haste_ || !extended;
    deep.frames = walk_.frames;
    deep.labels = labels_;
    deep.kernel_chain.assign(raw.kernel_chain.begin(), raw.kernel_chain.end());
    continuations_.add(std::move(deep), extended);
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
    Sample sample = deep.sample;
    const auto frames = std::span(deep.frames).first(whole ? deep.frames.size() : deep.proven);
    sample.stack = stacks_.intern(frames, whole, deep.labels, deep.kernel_chain, deep.system_call);
    write(sample, whole, deep.shown);
}

void Pipeline::settle(std::uint64_t now_ns) {
    live_.new_round();
    const std::uint64_t patience = std::max(least_patience_ns, periods_of_patience * period_ns_);
    continuations_.give_up(now_ns > patience ? now_ns - patience : 0, now_ns > idle_ns ? now_ns - idle_ns : 0);
    summary_.continued = continuations_.accepted();
    summary_.continuation_rejected = continuations_.rejected();
    wants_faster_drain_ = std::exchange(in_haste_, false);
}

void Pipeline::settle_all() { settle(~std::uint64_t{0}); }

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
    return create ? threads_.find(tid) : threads_.unknown();
}

void Pipeline::event_sample(EventId event, Sample sample) {
    sample.time_ns -= std::min(sample.time_ns, start_ns_);
    sample.thread = threads_.shown(sample.thread);
    sink_.event_sample(event, sample);
}

StackId Pipeline::blocked_stack(const BlockedThread& thread, bool& whole) {
    constexpr std::size_t first = 8 * 1024, most = 60 * 1024;
    blocked_copy_.resize(most);
    StackCopy copy{thread.sp,
                   std::span(blocked_copy_).first(read_self(thread.sp, std::span(blocked_copy_).first(first)))};
    live_.begin(copy);
    unwinder_->walk_blocked(thread.pc, thread.sp, copy, &live_, walk_);
    whole = walk_.end == WalkEnd::root;
    if (!whole) ++summary_.counters["off-CPU ended: " + std::string(describe(walk_.end))];
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
        if (is_new) sink_.string(strings_++, scope.label->text);
        labels_.push_back({scope.frame, known->second});
    }
}

std::size_t Pipeline::memory() const {
    constexpr std::size_t node = 48;  // of a hash table with small entries, its bucket included
    return stacks_.memory() + unwinder_->statistics().memory + continuations_.memory() + scopes_.memory() +
           threads_.memory() + ledger_.memory() + text_of_label_.size() * node + call_stacks_.memory() +
           blocked_copy_.capacity();
}

}  // namespace flameprobe
