#include "collect/pipeline.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/self_memory.hpp"
#include "base/system_call_names.hpp"
#include "profile/named_note.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

constexpr MappingId kernel_mapping = 0, note_mapping = 1, unknown_mapping = 2, scope_mapping = 3;

// How long a stack that goes on beyond its copy waits for the thread's next sample.
constexpr std::uint64_t least_patience_ns = 50'000'000, periods_of_patience = 5;
constexpr std::uint64_t idle_ns = 10'000'000'000;

// What a thread uses at most in the kernel after it has told its CPU clock.
constexpr std::uint64_t most_after_end_ns = 50'000;
constexpr std::uint64_t few_periods = 10;
// What a thread may have used since its last sample: CPU timers are noticed at the tick.
constexpr std::uint64_t most_rest_ns = 10'000'000;

constexpr std::string_view deleted_suffix = " (deleted)";

// The kernel tells it for what is mapped while sampling is on; for the rest, the file does if it is still the one that
// was mapped, else the process's memory.
std::string build_id_of(const CodeRegion& region) {
    if (!region.build_id.empty() || region.kind != RegionKind::file) return region.build_id;
    if (const auto image = ElfImage::from_file(region)) return image->build_id();
    if (const auto image = ElfImage::from_memory(region)) return image->build_id();
    return {};
}

}  // namespace

constinit std::atomic<bool> Pipeline::scopes_seen_{false};

Pipeline::Pipeline(ProfileSink& sink, bool frame_pointers, std::uint64_t start_ns, std::uint64_t period_ns,
                   std::uint32_t pid, const CpuClocks& clocks)
    : sink_(sink),
      unwinder_(frame_pointers ? make_fp_unwinder(code_map_) : make_dwarf_unwinder(code_map_)),
      calls_(code_map_),
      scopes_(code_map_),
      threads_(sink, period_ns, clocks),
      continuations_([this](const DeepSample& deep, bool whole) { decided(deep, whole); }),
      start_ns_(start_ns),
      period_ns_(period_ns),
      pid_(pid),
      rest_(period_ns, start_ns ^ pid) {
    for (const auto kind : {MappingKind::kernel, MappingKind::note, MappingKind::unknown, MappingKind::scope}) {
        Mapping mapping;
        mapping.kind = kind;
        sink_.mapping(next_mapping_++, mapping);
    }
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
    auto path = raw.path;
    if (path.ends_with(deleted_suffix)) path.remove_suffix(deleted_suffix.size());
    region.path = path;
    region.kind = path == "[vdso]"                                            ? RegionKind::vdso
                  : path.empty() || path.starts_with('[') || path == "//anon" ? RegionKind::anonymous
                                                                              : RegionKind::file;
    code_map_.add(std::move(region));
}

void Pipeline::thread_name(std::uint32_t tid, std::string_view name) { threads_.renamed(tid, name); }
void Pipeline::thread_started(std::uint32_t tid, std::uint32_t, std::uint64_t time_ns) {
    if (switches_ != nullptr) switches_->thread_started(tid, time_ns);
    if (tid != pid_) threads_.started(tid);
}
void Pipeline::switched(const RawSwitch& record) {
    if (switches_ != nullptr) switches_->switched(record);
}
void Pipeline::thread_ended(std::uint32_t tid, std::uint64_t time_ns) {
    if (switches_ != nullptr) switches_->thread_ended(tid, time_ns);
    threads_.ended(tid, time_ns);
    last_calls_.erase(tid);
}
void Pipeline::throttled(std::uint64_t) { ++summary_.throttled; }

// CPU time that an engine knows it could not sample: a thread that blocks the signal, or has no timer.
void Pipeline::unsampled(std::uint32_t tid, std::uint64_t cpu_ns) {
    if (period_ns_ == 0) return;
    const ThreadId thread = threads_.find(tid);
    std::uint64_t& waiting = unsampled_ns_[thread];
    waiting += cpu_ns;
    const std::uint64_t weight = waiting / period_ns_;
    if (weight == 0) return;
    waiting -= weight * period_ns_;
    note(Note::lost, thread, weight);
}

// An engine that drops samples does not know whose. The CPU clocks do; what is no clock has none.
void Pipeline::lost(std::uint64_t samples) {
    if (switches_ != nullptr) switches_->records_lost();
    if (period_ns_ == 0) return note(Note::lost, threads_.unknown(), samples);
    lost_somewhere_ += samples;
}

void Pipeline::note(Note note, ThreadId thread, std::uint64_t weight) {
    if (note == Note::lost) summary_.lost += weight;
    threads_.count_noted(thread, weight);
    credit(thread) += weight * period_ns_;
    depth_ = 0;
    const StackId stack = push(0, note_mapping, static_cast<std::uint64_t>(note));
    sink_.sample(
        {.time_ns = monotonic_ns() - start_ns_, .thread = thread, .stack = stack, .weight = weight, .hits = 0});
}

void Pipeline::sample(const RawSample& raw) {
    if (raw.pid != pid_) return;  // a child that the kernel let inherit: it has its own session
    Sample sample;
    sample.time_ns = raw.time_ns > start_ns_ ? raw.time_ns - start_ns_ : 0;
    sample.thread = threads_.find(raw.tid);
    sample.weight = raw.weight;
    credit(sample.thread) += raw.weight * period_ns_ - static_cast<std::uint64_t>(raw.short_by_ns);
    if (raw.short_by_ns != 0) {
        sample.weight += rest_.add(static_cast<std::int64_t>(period_ns_) - raw.short_by_ns) - 1;
        if (sample.weight == 0) sample.hits = 0;
    }

    walk_.frames.clear();
    labels_.clear();
    walk_.end = WalkEnd::root;
    if (raw.has_registers) {
        const StackCopy copy{raw.registers.sp(), raw.stack};
        unwinder_->walk(raw.registers, copy, nullptr, walk_);
        if (walk_.end == WalkEnd::truncated) return deep_sample(raw, sample);
        find_labels(copy, nullptr);
    }
    summary_.frames += walk_.frames.size() + raw.kernel_chain.size();
    const bool whole = walk_.end == WalkEnd::root;
    in_haste_ = in_haste_ || in_no_mapping();
    if (whole && raw.has_registers) continuations_.saw_whole(sample.thread, walk_.frames, raw.time_ns);
    if (const std::size_t frames = walk_.frames.size(); whole && frames > 2 && raw.tid != pid_)
        root_of_[walk_.frames[frames - 2].address] = walk_.frames[frames - 1].address;
    sample.stack = intern(walk_.frames, walk_.frames.size(), whole, labels_, raw.kernel_chain,
                          raw.in_system_call ? system_call() : 0);
    if (!whole) ++summary_.counters["ended: " + std::string(describe(walk_.end))];
    write(sample, whole);
    if (!whole || !raw.in_system_call) return;
    LastCalls& last = last_calls_[raw.tid];
    last.samples[last.count++ % last.samples.size()] = sample;
}

// Code that has been unloaded before anybody told of it, where no kernel does: it may come again.
bool Pipeline::in_no_mapping() const {
    return walk_.frames.size() == 1 && walk_.frames.front().region == CodeFrame::no_region;
}

void Pipeline::deep_sample(const RawSample& raw, Sample sample) {
    const StackCopy copy{raw.registers.sp(), raw.stack};
    DeepSample deep{.sample = sample, .time_ns = raw.time_ns, .came_ns = monotonic_ns()};
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
            extended = continuations_.went_on_like(sample.thread, walk_);
        }
    }
    deep.system_call = raw.in_system_call ? system_call() : 0;
    find_labels(copy, scopes_seen() || live_.read_any() ? &live_ : nullptr);
    summary_.frames += walk_.frames.size() + raw.kernel_chain.size();
    if (!extended && deep.read_ns == 0) walk_.frames.resize(deep.proven);
    in_haste_ = in_haste_ || !extended;
    deep.frames = walk_.frames;
    deep.labels = labels_;
    deep.kernel_chain.assign(raw.kernel_chain.begin(), raw.kernel_chain.end());
    continuations_.add(std::move(deep), extended);
}

// What can be seen of live memory by itself: it leads to the start of the thread, the copy's end is still in place, and
// every frame beyond the copy called the one below it.
bool Pipeline::memory_continues() {
    if (walk_.end != WalkEnd::root || !live_.copy_still_true()) return false;
    for (std::size_t at = std::max<std::size_t>(walk_.frames_in_copy, 1); at < walk_.frames.size(); ++at) {
        if (!calls_.follows_call(walk_.frames[at].address + 1, walk_.frames[at - 1].address)) return false;
    }
    return true;
}

void Pipeline::decided(const DeepSample& deep, bool whole) {
    Sample sample = deep.sample;
    sample.stack = intern(deep.frames, whole ? deep.frames.size() : deep.proven, whole, deep.labels, deep.kernel_chain,
                          deep.system_call);
    write(sample, whole);
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

void Pipeline::write(Sample sample, bool whole) {
    if (last_stacks_.size() <= sample.thread) last_stacks_.resize(sample.thread + 1);
    last_stacks_[sample.thread] = {sample.stack, whole};
    if (sample.weight == 0) return;
    summary_.samples += sample.weight;
    summary_.hits += sample.hits;
    (whole ? summary_.rooted : summary_.truncated) += sample.weight;
    threads_.count(sample.thread, sample.weight);
    sink_.sample(sample);
}

StackId Pipeline::last_stack(std::uint32_t tid) const {
    const auto thread = threads_.known(tid);
    return thread && *thread < last_stacks_.size() ? last_stacks_[*thread].first : 0;
}

ThreadId Pipeline::thread_of(std::uint32_t tid, bool create) {
    if (const auto known = threads_.known(tid)) return *known;
    return create ? threads_.find(tid) : threads_.unknown();
}

StackId Pipeline::note_above(StackId parent, const std::string& text) {
    return child(parent, {note_of(text), named_note});
}

StackId Pipeline::lost_stack() { return child(0, {note_mapping, static_cast<std::uint64_t>(Note::lost)}); }

void Pipeline::event_sample(EventId event, Sample sample) {
    sample.time_ns -= std::min(sample.time_ns, start_ns_);
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
    std::string call = "[not in a system call]";
    if (thread.call != BlockedThread::no_call) {
        call = system_call_name(static_cast<unsigned>(thread.call));
        if (call.empty()) call = "[system call " + std::to_string(thread.call) + "]";
    }
    return intern(walk_.frames, walk_.frames.size(), whole, labels_, {}, note_of(call));
}

void Pipeline::find_labels(StackCopy copy, StackBeyond* beyond) {
    scopes_.find(copy, walk_, beyond, placed_);
    if (!placed_.empty()) scopes_seen_.store(true, std::memory_order_relaxed);
    for (const auto& scope : placed_) {
        const auto next = static_cast<std::uint32_t>(text_of_label_.size());
        const auto [known, is_new] = text_of_label_.try_emplace(scope.label->id, next);
        if (is_new) sink_.string(next, scope.label->text);
        labels_.push_back({scope.frame, known->second});
    }
}

StackId Pipeline::intern(const std::vector<CodeFrame>& frames, std::size_t count, bool whole,
                         const std::vector<StackLabel>& labels, std::span<const std::uint64_t> kernel, MappingId call) {
    StackId stack = 0;
    depth_ = 0;
    auto label = labels.begin();  // from the root on
    if (!whole) stack = push(stack, note_mapping, static_cast<std::uint64_t>(Note::truncated));
    // Scopes are believed on proofs of their own, so they stay where the frames that opened them are cut.
    for (; label != labels.end() && label->frame >= count; ++label) stack = push(stack, scope_mapping, label->text);
    for (std::size_t at = count; at-- > 0;) {
        stack = push(stack, mapping_of(frames[at].region, frames[at].address), frames[at].address);
        for (; label != labels.end() && label->frame >= at; ++label) stack = push(stack, scope_mapping, label->text);
    }
    for (std::size_t at = kernel.size(); at-- > 0;)
        stack = push(stack, kernel_mapping, at == 0 ? kernel[at] : kernel[at] - 1);
    if (call != 0) stack = push(stack, call, named_note);
    return stack;
}

// At most as much again as these samples stand for; the rest remains without a stack.
void Pipeline::more_in_system_calls(std::uint32_t tid, std::uint64_t periods) {
    const auto found = last_calls_.find(tid);
    if (found == last_calls_.end()) return;
    LastCalls& last = found->second;
    const std::size_t count = std::min(last.count, last.samples.size());
    for (std::size_t i = 0; i < count && periods != 0; ++i) {
        const std::uint64_t fair = (periods + count - i - 1) / (count - i);
        Sample sample = last.samples[i];
        sample.weight = std::min({fair, sample.weight, periods});
        periods -= sample.weight;
        credit(sample.thread) += sample.weight * period_ns_;
        write(sample, true);
    }
    last_calls_.erase(found);
}

std::uint64_t& Pipeline::credit(ThreadId thread) {
    if (credits_.size() <= thread) credits_.resize(thread + 1);
    return credits_[thread];
}

void Pipeline::thread_over(const EndedThread& ended) {
    std::uint64_t cpu_ns = ended.cpu_ns;
    const auto known = threads_.told_end(ended.tid, cpu_ns);
    if (period_ns_ == 0) return;
    if (cpu_ns < few_periods * period_ns_) sees_brief_threads_ = true;
    if (known && credit(*known) != 0) return write_rest(*known, cpu_ns);
    Brief& of_its_kind = brief(ended);
    ++of_its_kind.threads;
    threads_.used(of_its_kind.thread, cpu_ns);
    // Where the kernel's time is not sampled, that is where a longer thread has been.
    if (samples_all_time_ || cpu_ns < period_ns_) write_brief(of_its_kind, cpu_ns);
}

Pipeline::Brief& Pipeline::brief(const EndedThread& ended) {
    const auto [known, is_new] = briefs_.try_emplace({ended.name, ended.routine});
    if (!is_new) return known->second;
    known->second.stack = brief_stack(ended.routine, ended.caller);
    known->second.thread = threads_.unsampled(ended.name);
    return known->second;
}

// As far as it is known, the stack has the roots of those that were sampled.
StackId Pipeline::brief_stack(std::uint64_t routine, std::uint64_t caller) {
    depth_ = 0;
    StackId stack = 0;
    const auto frame = [&](std::uint64_t address) {
        const CodeRegion* region = address == 0 ? nullptr : code_map_.find(address);
        if (region != nullptr) stack = push(stack, mapping_of(region->id, address), address);
    };
    if (caller != 0) {
        const auto root = root_of_.find(caller - 1);
        if (root != root_of_.end()) frame(root->second);
        frame(caller - 1);
    }
    frame(routine);
    return push(stack, note_of("[not sampled: lived too briefly]"), named_note);
}

void Pipeline::write_brief(const Brief& brief, std::uint64_t cpu_ns) {
    const std::uint64_t weight = rest_.add(static_cast<std::int64_t>(cpu_ns));
    if (weight != 0) write_brief_periods(brief, weight);
}

void Pipeline::write_brief_periods(const Brief& brief, std::uint64_t weight) {
    too_brief_ += weight;
    threads_.count_noted(brief.thread, weight);
    sink_.sample({.time_ns = monotonic_ns() - start_ns_,
                  .thread = brief.thread,
                  .stack = brief.stack,
                  .weight = weight,
                  .hits = 0});
}

// More than a few periods is no rest: samples did not come, and unless that has been told of it is now.
void Pipeline::write_rest(ThreadId thread, std::uint64_t cpu_ns) {
    const std::int64_t rest = static_cast<std::int64_t>(cpu_ns) - static_cast<std::int64_t>(credit(thread));
    const auto most = static_cast<std::int64_t>(std::max(3 * period_ns_, most_rest_ns));
    if (!samples_all_time_ || rest < -most) return;
    if (rest > most) {
        if (tells_of_missing_ && summary_.lost + lost_somewhere_ + summary_.throttled == 0)
            note(Note::lost, thread, static_cast<std::uint64_t>(rest) / period_ns_);
        return;
    }
    if (last_stacks_.size() <= thread || last_stacks_[thread].first == 0) return;
    credit(thread) = cpu_ns;
    const std::uint64_t weight = rest_.add(rest);
    if (weight == 0) return;
    write({.time_ns = monotonic_ns() - start_ns_,
           .thread = thread,
           .stack = last_stacks_[thread].first,
           .weight = weight,
           .hits = 0},
          last_stacks_[thread].second);
}

void Pipeline::account_for_rests(std::uint64_t process_cpu_ns) {
    if (period_ns_ == 0) return;
    const auto living = threads_.living();
    std::uint64_t accounted = 0;
    for (const auto& [tid, cpu_ns] : living) {
        const bool sampled = threads_.has_id(tid) && credit(threads_.find(tid)) != 0;
        if (!sampled) {
            if (!threads_.has_id(tid)) accounted += cpu_ns;
            const std::uint64_t weight =
                samples_all_time_ || cpu_ns < period_ns_ ? rest_.add(static_cast<std::int64_t>(cpu_ns)) : 0;
            if (weight != 0) write_brief_periods({threads_.find(tid), brief_stack(0)}, weight);
        } else if (const ThreadId thread = threads_.find(tid); cpu_ns > credit(thread)) {
            write_rest(thread, cpu_ns);  // what is read of a thread that runs may be a tick old
        }
    }
    accounted += threads_.cpu_ns();
    std::uint64_t missing = process_cpu_ns - std::min(process_cpu_ns, accounted);
    std::uint64_t threads = 0;
    for (const auto& [kind, brief] : briefs_) threads += brief.threads;
    const std::uint64_t each = threads == 0 ? 0 : std::min(missing / threads, most_after_end_ns);
    for (const auto& [kind, brief] : briefs_) {
        threads_.used(brief.thread, each * brief.threads);
        write_brief(brief, each * brief.threads);
    }
    missing -= each * threads;
    // The last is of threads that told nothing. What is read of one that runs may be behind.
    const ThreadId unknown = threads_.unknown_if_any();
    const std::uint64_t noted = credits_.size() > unknown ? credits_[unknown] : 0;
    missing -= std::min(missing, noted);
    const bool told_otherwise = !samples_all_time_ || lost_somewhere_ + summary_.throttled != 0;
    if (!told_otherwise && missing > period_ns_ + living.size() * (period_ns_ + threads_.behind_ns()))
        write_brief({threads_.unknown(), brief_stack(0)}, missing);
}

// The code at a place does not change without its region.
MappingId Pipeline::system_call() {
    if (walk_.frames.empty()) return note_of("[kernel]");
    const CodeFrame& leaf = walk_.frames.front();
    const auto [known, is_new] = call_at_.try_emplace({leaf.region, leaf.address}, 0);
    if (!is_new) return known->second;
    const auto number = system_call_number(leaf.address);
    const auto name = number ? system_call_name(*number) : std::string_view();
    known->second = note_of(name.empty() ? "[kernel]" : "[kernel: " + std::string(name) + "]");
    return known->second;
}

MappingId Pipeline::note_of(const std::string& text) {
    const auto [known, is_new] = notes_.try_emplace(text, next_mapping_);
    if (!is_new) return known->second;
    Mapping mapping;
    mapping.kind = MappingKind::note;
    mapping.path = text;
    sink_.mapping(next_mapping_++, mapping);
    return known->second;
}

// Most stacks begin as the last one did: that part is not looked up again.
StackId Pipeline::push(StackId parent, MappingId mapping, std::uint64_t address) {
    const Location location{mapping, address};
    if (depth_ < path_.size() && path_[depth_].parent == parent && path_[depth_].location == location)
        return path_[depth_++].id;
    path_.resize(depth_++);
    path_.push_back({parent, location, child(parent, location)});
    return path_.back().id;
}

StackId Pipeline::child(StackId parent, const Location& location) {
    const auto place = table_.location(location);
    if (place.is_new) sink_.location(place.id, location);
    const auto stack = table_.stack(parent, place.id);
    if (stack.is_new) sink_.stack(stack.id, {parent, place.id});
    return stack.id;
}

MappingId Pipeline::mapping_of(std::uint32_t region_id, std::uint64_t address) {
    if (region_id == CodeFrame::no_region) return unknown_mapping;
    const auto known = mapping_of_region_.find(region_id);
    if (known != mapping_of_region_.end()) return known->second;
    const CodeRegion* region = code_map_.find(address);
    if (region == nullptr || region->id != region_id) return unknown_mapping;
    Mapping mapping;
    mapping.kind = region->kind == RegionKind::vdso   ? MappingKind::vdso
                   : region->kind == RegionKind::file ? MappingKind::file
                                                      : MappingKind::anonymous;
    mapping.start = region->start;
    mapping.size = region->end - region->start;
    mapping.file_offset = region->file_offset;
    mapping.since_ns = monotonic_ns() - start_ns_;
    mapping.path = region->path;
    mapping.build_id = build_id_of(*region);
    const MappingId id = next_mapping_++;
    mapping_of_region_.emplace(region_id, id);
    sink_.mapping(id, mapping);
    return id;
}

std::size_t Pipeline::memory() const {
    constexpr std::size_t node = 48;  // of a hash table with small entries, its bucket included
    const std::size_t nodes = mapping_of_region_.size() + text_of_label_.size() + unsampled_ns_.size();
    return table_.memory() + unwinder_->statistics().memory + continuations_.memory() + scopes_.memory() +
           threads_.memory() + nodes * node;
}

}  // namespace flameprobe
