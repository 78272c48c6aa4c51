// Raw samples in, profile records out: unwinding, interning, writing. The collector thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "capture/blocked_reader.hpp"
#include "capture/record.hpp"
#include "collect/deep_stacks.hpp"
#include "collect/ledger.hpp"
#include "collect/live_stack.hpp"
#include "collect/profile_stacks.hpp"
#include "collect/thread_registry.hpp"
#include "profile/sink.hpp"
#include "scope/scanner.hpp"
#include "unwind/call_check.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

class Requests;

class Pipeline final : public RecordSink, private DeepStackFacts {
public:
    Pipeline(ProfileSink& sink, bool frame_pointers, std::uint64_t start_ns, std::uint64_t period_ns, std::uint32_t pid,
             const CpuClocks& clocks = kernel_clocks());

    void take(const Record& record) override;
    bool met_unknown_code() override { return std::exchange(met_unknown_code_, false); }
    /// `sink` gets each record too, before the pipeline takes it: while the thread still has an account.
    void pass_records_to(RecordSink* sink) { also_ = sink; }

    /// The stack of a thread that waits, its system call as the leaf. Right only if the thread has not woken meanwhile.
    StackId blocked_stack(const BlockedThread& thread, bool& whole);
    /// The stack of a sample that code of ours took in the host, without the frames of that code at its leaf.
    StackId stack_of(const RawSample& raw, std::uint64_t own_begin, std::uint64_t own_end);
    /// The stack of the thread's last CPU sample; 0 if there is none.
    StackId last_stack(std::uint32_t tid) const;
    /// The frames, leaf first, of the stack that was read last.
    const std::vector<CodeFrame>& last_frames() const { return walk_.frames; }
    std::uint64_t since_start(std::uint64_t monotonic_ns) const {
        return monotonic_ns > start_ns_ ? monotonic_ns - start_ns_ : 0;
    }
    /// Calls this with each CPU sample: its thread, stack and time after the profile's start.
    using TellSample = std::function<void(ThreadId, StackId, std::uint64_t)>;
    void tell_samples(TellSample tell) { tell_sample_ = std::move(tell); }
    /// A thread without samples gets an id if `create`; else it is threads().unknown().
    ThreadId thread_of(std::uint32_t tid, bool create);
    /// Sample::time_ns is CLOCK_MONOTONIC's, its thread what threads().shown() gave.
    void event_sample(EventId event, Sample sample);
    /// EventSample::event 1 is the profile's event `first`, 2 the next, and so on.
    void more_events(EventId first, std::vector<std::string> names);
    bool has_more_events() const { return has_more_events_; }

    /// After each drain: writes the samples whose continued stacks are now proven or refuted.
    void settle(bool at_end = false);
    /// Writes all pending samples; continued stacks that cannot be proven are cut.
    void settle_all() { settle(true); }
    /// Closes all files, before the calling thread's descriptor table ends.
    void close_files() {
        unwinder_->modules().close_files();
        stacks_.close_files();
    }
    /// To be called once, at the end of the profile.
    void name_what_is_gone() { stacks_.name_what_is_gone(strings_); }
    void host(const HostRecord& record) { sink_.host(record); }
    /// `requests` is told when a thread is sampled, and when a look finds where one waits.
    void tell_requests(Requests& requests) { requests_ = &requests; }
    void sampled(std::uint32_t tid, std::uint64_t monotonic_ns);
    /// A string of the profile.
    std::uint32_t string_of(const std::string& text) { return add_scope_text(text); }

    StackId same_stack(const Pipeline& before, StackId stack);
    /// A stack with a frame above `parent` that is no address: its name and place are all that is known of it.
    StackId named_above(StackId parent, const CodeName& frame);

    ProfileStacks& stacks() { return stacks_; }
    Summary& summary() { return summary_; }
    ThreadRegistry& threads() { return threads_; }
    const ThreadRegistry& threads() const { return threads_; }
    Ledger& ledger() { return ledger_; }
    const Ledger& ledger() const { return ledger_; }
    const CodeMap& code_map() const { return code_map_; }
    std::size_t memory() const;
    const ScopeStatistics& scope_statistics() const { return scopes_.statistics(); }
    UnwindStatistics unwind_statistics() const { return unwinder_->statistics(); }
    /// Whether a scope was found in any profile of this process.
    static bool scopes_seen() noexcept { return scopes_seen_.load(std::memory_order_relaxed); }
    /// Whether, since the last call, deep stacks or mappings changed faster than they are read: the next drain should
    /// come sooner.
    bool take_haste() { return std::exchange(in_haste_, false); }

private:
    void on(const TimeSample& raw);
    void on(const EventSample& raw);
    void on(const RawMapping& raw);
    void on(const ThreadStarted& thread);
    void on(const ThreadNamed& thread) { threads_.renamed(thread.tid, thread.name); }
    void on(const ThreadEnded& thread);
    void on(const SamplesLost& lost);
    void on(const Throttled& event);
    void on(const TimeNotSampled& time);
    void on(const auto&) {}

    void walk_copy(const RawSample& raw);
    bool is_whole(const char* counter);
    void find_labels_in_copy(const RawSample& raw);
    void find_labels(StackCopy copy, StackBeyond* beyond);
    void add_placed();
    Sample sample_at(const RawSample& raw);
    void deep_sample(const TimeSample& raw, Sample sample);
    void decided(DeepSample& deep, DeepStacks::Callers callers);
    std::uint64_t function_of(std::uint64_t address) override { return calls_.function_of(address); }
    CallCheck::Verdict judge(std::uint64_t return_address, std::uint64_t callee) override {
        return calls_.judge(return_address, callee);
    }
    std::uint64_t word(std::uint64_t address) override;
    std::uint64_t cpu_ns(std::uint32_t tid) override { return host_thread_cpu_ns(tid); }
    void write(Sample sample, bool whole, ThreadId shown);
    std::uint32_t add_scope_text(const std::string& text);
    bool memory_continues();
    bool in_no_mapping() const;

    ProfileSink& sink_;
    CodeMap code_map_;
    std::unique_ptr<Unwinder> unwinder_;
    CallCheck calls_;
    LiveStack live_;
    ScopeScanner scopes_;
    ProfileStacks stacks_;
    ThreadRegistry threads_;
    Summary summary_;
    Ledger ledger_;
    Walk walk_;
    std::vector<PlacedScope> placed_;
    std::vector<StackLabel> labels_;
    std::unordered_map<std::uint32_t, std::uint32_t> text_of_label_;
    std::unordered_map<std::uint32_t, std::string> scope_texts_;  // by the string's number
    std::uint32_t strings_ = 0;                                   // in the profile
    DeepStacks deep_;
    std::vector<std::byte> blocked_copy_;
    EventId first_event_ = 1;
    std::vector<std::string> more_events_;  // by EventSample::event - 1
    bool has_more_events_ = false;          // samples of one have come
    RecordSink* also_ = nullptr;
    Requests* requests_ = nullptr;
    TellSample tell_sample_;
    std::uint64_t start_ns_;
    std::uint64_t period_ns_;
    std::uint32_t pid_;
    bool in_haste_ = false;
    bool met_unknown_code_ = false;
    static std::atomic<bool> scopes_seen_;
};

}  // namespace flameprobe
