// Raw samples in, profile records out: unwinding, interning, writing. The collector thread only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/blocked_reader.hpp"
#include "capture/raw_sample.hpp"
#include "collect/continuation.hpp"
#include "collect/ended_threads.hpp"
#include "collect/live_stack.hpp"
#include "collect/period_rest.hpp"
#include "collect/thread_registry.hpp"
#include "profile/sink.hpp"
#include "profile/stack_table.hpp"
#include "scope/scanner.hpp"
#include "unwind/call_check.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// What the records say of threads that run and wait; the threads' registry still knows the tid.
class SwitchSink {
public:
    virtual ~SwitchSink() = default;
    virtual void switched(const RawSwitch& record) = 0;
    virtual void thread_started(std::uint32_t tid, std::uint64_t time_ns) = 0;
    virtual void thread_ended(std::uint32_t tid, std::uint64_t time_ns) = 0;
    virtual void records_lost() = 0;
};

class Pipeline final : public EventSink {
public:
    Pipeline(ProfileSink& sink, bool frame_pointers, std::uint64_t start_ns, std::uint64_t period_ns, std::uint32_t pid,
             const CpuClocks& clocks = kernel_clocks());

    void sample(const RawSample& raw) override;
    void mapping(const RawMapping& raw) override;
    void thread_name(std::uint32_t tid, std::string_view name) override;
    void thread_started(std::uint32_t tid, std::uint32_t parent_tid, std::uint64_t time_ns) override;
    void thread_ended(std::uint32_t tid, std::uint64_t time_ns) override;
    void lost(std::uint64_t samples) override;
    void throttled(std::uint64_t time_ns) override;
    void unsampled(std::uint32_t tid, std::uint64_t cpu_ns) override;
    void more_in_system_calls(std::uint32_t tid, std::uint64_t periods) override;

    void switched(const RawSwitch& record) override;
    /// Null: the records of switches are dropped.
    void pass_switches_to(SwitchSink* sink) { switches_ = sink; }

    /// The stack of a thread that waits, its system call as the leaf. Right only if the thread has not woken meanwhile.
    StackId blocked_stack(const BlockedThread& thread, bool& whole);
    /// That of the thread's last CPU sample; 0 if there is none.
    StackId last_stack(std::uint32_t tid) const;
    /// A frame of ours on top of a stack.
    StackId note_above(StackId parent, const std::string& text);
    StackId lost_stack();
    /// `create`: one that has no sample yet becomes known; else it is threads().unknown().
    ThreadId thread_of(std::uint32_t tid, bool create);
    /// Sample::time_ns is CLOCK_MONOTONIC's.
    void event_sample(EventId event, Sample sample);

    /// After each drain: writes the samples whose continued stacks are now proven or refuted.
    void settle(std::uint64_t drained_ns);
    /// Everything that still waits is written; continued stacks that cannot be proven are cut.
    void settle_all();
    /// Before the calling thread's descriptor table ends.
    void close_files() {
        unwinder_->close_files();
        calls_.close_files();
    }
    void death(const Death& death) { sink_.death(death); }
    void count(const WorkCount& count) { sink_.count(count); }
    /// Whether samples are taken of all CPU time, that in the kernel included: else only threads without any sample get
    /// the rest of theirs.
    void samples_all_time(bool all) { samples_all_time_ = all; }
    /// Whether samples that did not come are told of by nothing else.
    void tells_of_missing_samples(bool tells) { tells_of_missing_ = tells; }
    /// The CPU time of a thread that ended which its samples do not cover: on the stack of its last sample, or, if it
    /// was never sampled, on its start routine below `[not sampled: lived too briefly]`.
    void thread_over(const EndedThread& thread);
    /// At the end of the profile, with the process's CPU time: the same for threads that live, by their accounts, and
    /// for what ended threads used after they had told their clocks, or did not tell.
    void account_for_rests(std::uint64_t process_cpu_ns);
    /// Whether threads have ended after a few periods.
    bool sees_brief_threads() const { return sees_brief_threads_; }
    /// Periods of `[not sampled: lived too briefly]`.
    std::uint64_t too_brief() const { return too_brief_; }

    /// CPU time that could not be sampled, as a frame of its own.
    void note(Note note, ThreadId thread, std::uint64_t weight);
    /// Samples that an engine lost, of a thread that the CPU clocks have to tell.
    std::uint64_t lost_somewhere() const { return lost_somewhere_; }
    void note_lost(ThreadId thread, std::uint64_t weight) {
        note(Note::lost, thread, weight);
        lost_somewhere_ -= weight;
    }
    void drop_lost() { lost_somewhere_ = 0; }

    Summary& summary() { return summary_; }
    ThreadRegistry& threads() { return threads_; }
    const ThreadRegistry& threads() const { return threads_; }
    const CodeMap& code_map() const { return code_map_; }
    std::size_t memory() const;
    std::size_t stacks() const { return table_.stacks(); }
    const ScopeStatistics& scope_statistics() const { return scopes_.statistics(); }
    UnwindStatistics unwind_statistics() const { return unwinder_->statistics(); }
    /// Whether any process image of ours has shown a scope.
    static bool scopes_seen() noexcept { return scopes_seen_.load(std::memory_order_relaxed); }
    /// What is to be looked at changes faster than it is looked at, deep stacks or mappings: drain sooner.
    bool wants_faster_drain() const { return wants_faster_drain_; }

private:
    /// `count`: how many of the frames to keep, from the leaf.
    StackId intern(const std::vector<CodeFrame>& frames, std::size_t count, bool whole,
                   const std::vector<StackLabel>& labels, std::span<const std::uint64_t> kernel, MappingId call);
    /// The note that names the system call which the leaf of `walk_` made.
    MappingId system_call();
    MappingId note_of(const std::string& text);
    void find_labels(StackCopy copy, StackBeyond* beyond);
    void deep_sample(const RawSample& raw, Sample sample);
    void decided(const DeepSample& deep, bool whole);
    StackId push(StackId parent, MappingId mapping, std::uint64_t address);
    StackId child(StackId parent, const Location& location);
    MappingId mapping_of(std::uint32_t region, std::uint64_t address);
    void write(Sample sample, bool whole);
    /// Threads of one name and start routine that were never sampled.
    struct Brief {
        ThreadId thread = 0;
        StackId stack = 0;
        std::uint64_t threads = 0;
    };
    Brief& brief(const EndedThread& thread);
    StackId brief_stack(std::uint64_t routine, std::uint64_t caller = 0);
    void write_brief(const Brief& brief, std::uint64_t cpu_ns);
    void write_brief_periods(const Brief& brief, std::uint64_t weight);
    void write_rest(ThreadId thread, std::uint64_t cpu_ns);
    /// CPU time for which samples stand, by thread.
    std::uint64_t& credit(ThreadId thread);
    bool memory_continues();
    bool in_no_mapping() const;

    ProfileSink& sink_;
    CodeMap code_map_;
    std::unique_ptr<Unwinder> unwinder_;
    CallCheck calls_;
    LiveStack live_;
    ScopeScanner scopes_;
    StackTable table_;
    struct Step {
        StackId parent;
        Location location;
        StackId id;
    };
    std::vector<Step> path_;  // of the last stack, root first
    std::size_t depth_ = 0;   // so much of it is the path of the stack that is being interned
    ThreadRegistry threads_;
    Summary summary_;
    Walk walk_;
    std::vector<PlacedScope> placed_;
    std::vector<StackLabel> labels_;
    std::unordered_map<std::uint32_t, std::uint32_t> text_of_label_;
    Continuations continuations_;
    std::unordered_map<std::uint32_t, MappingId> mapping_of_region_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, MappingId> call_at_;  // by region and pc
    std::map<std::string, MappingId> notes_;                                // by text
    struct LastCalls {
        std::array<Sample, 16> samples{};
        std::size_t count = 0;  // in all
    };
    std::unordered_map<std::uint32_t, LastCalls> last_calls_;  // by tid
    std::vector<std::byte> blocked_copy_;
    SwitchSink* switches_ = nullptr;
    std::uint32_t next_mapping_ = 0;
    std::uint64_t start_ns_;
    std::uint64_t period_ns_;
    std::uint32_t pid_;
    std::unordered_map<ThreadId, std::uint64_t> unsampled_ns_;  // less than a period: not told yet
    std::uint64_t lost_somewhere_ = 0;
    std::map<std::pair<std::string, std::uint64_t>, Brief> briefs_;
    std::unordered_map<std::uint64_t, std::uint64_t> root_of_;  // of threads: the frame right above to the outermost
    PeriodRest rest_;
    std::vector<std::uint64_t> credits_;                 // by thread
    std::vector<std::pair<StackId, bool>> last_stacks_;  // by thread, and whether it is whole
    std::uint64_t too_brief_ = 0;
    bool samples_all_time_ = true;
    bool tells_of_missing_ = true;
    bool sees_brief_threads_ = false;
    bool in_haste_ = false;  // since the last settle()
    bool wants_faster_drain_ = false;
    static std::atomic<bool> scopes_seen_;
};

}  // namespace flameprobe
