// One profile while it is recorded: the pipeline, its file, and its account of CPU time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collect/allocations.hpp"
#include "collect/crash_record.hpp"
#include "collect/off_cpu.hpp"
#include "collect/outside_event.hpp"
#include "collect/pipeline.hpp"
#include "collect/profile_file.hpp"
#include "collect/requests.hpp"
#include "collect/usage.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// What the account of a recording goes by; RunInfo has it in words.
struct HowSampled {
    bool by_frame_pointers = false;
    bool all_time = true;  // CaptureFacts::has_all_time()
    std::uint32_t most_stack_bytes = 1 << 20;
    std::uint64_t least_cpu_ns = 0;  // below it there are no results if no sample hit the process
};

/// The collector thread only.
class Recording {
public:
    /// `stem`: where the results go. Reads the code map from /proc; without it stacks end at once. `start_ns`:
    /// CLOCK_MONOTONIC, not in the future; times in the profile count from it. `file_bytes`: see ProfileFile.
    Recording(const RunInfo& run, const HowSampled& how, std::string stem, OlderResults older, std::uint64_t file_bytes,
              std::uint64_t start_ns, const CpuClocks& clocks = kernel_clocks());

    RecordSink& sink() { return pipeline_; }
    /// The profile's file. It appears with the first samples; ProfileFile::create() makes it earlier, for a host that
    /// is about to drop its privileges. Without samples close() removes it. Else the caller closes it after close().
    ProfileFile& file() { return file_; }
    const ProfileFile& file() const { return file_; }
    /// Up to where CPU time and units of work are counted: the clocks and counters as they were read last.
    struct CountedTo {
        std::uint64_t time_ns = 0, process_ns = 0, own_ns = 0;
        ThreadRegistry::Readings threads;
        UnitCounts units;
        bool ended = false;  // sampling ends as it begins, so no time is known to be the kernel's
    };
    /// Sampling begins or goes on: CPU time and units of work since pause() do not count.
    Result<void> resume();
    /// As resume(), where sampling went on since an earlier recording ended: counts from there.
    Result<void> resume_from(const CountedTo& end);
    CountedTo counted_to() const;
    /// The present state of a host with one thread, for resume_from().
    static CountedTo count_from_now(bool units_from_birth, const CpuClocks& clocks = kernel_clocks());
    /// Sampling pauses. To be called before the last drain, so that what is drained was sampled in the time that
    /// counts.
    void pause();
    /// Closes the file; resume() opens it again. What was sampled so far is in it.
    Result<void> suspend();
    /// To be called after each drain, with the time at which it began.
    void settle(std::uint64_t drained_ns) {
        pipeline_.settle();
        if (off_cpu_) off_cpu_->settle(drained_ns);
        requests_.drain(drained_ns);
    }
    /// To be called before the first resume(), if waits are sampled too, as two events of the profile.
    void sample_waits(const OffCpuSettings& settings);
    /// To be called before the first resume(), after sample_waits(): other events that the source samples
    /// (EventSample).
    void sample_events(const std::vector<EventInfo>& events);
    /// To be called before the first resume(), after sample_events(): the host's allocations too.
    void sample_allocations(alloc::State& state);
    /// To be called before the first resume(), after all of these: what is seen from outside too.
    void sample_outside(OutsideEvent& event);
    /// What was alive at the end of the profile before is alive as this one begins. To be called after resume_from().
    void take_over(Recording& before) {
        if (allocations_ && before.allocations_) allocations_->take_over(*before.allocations_);
    }
    /// What is sampled beside the engine's events; null where it is not.
    Allocations* allocations() { return allocations_ ? &*allocations_ : nullptr; }
    OffCpu* waits() { return off_cpu_ ? &*off_cpu_ : nullptr; }
    /// To be called after each drain, with the threads that reported their ends before it.
    void threads_ended(std::vector<EndedThread> threads);
    /// Reads the CPU clocks. To be called before a drain, so that all samples of the time they count are drained.
    void read_clocks();
    /// The same, if it is time; a few times a second, since a thread's clock ends with the thread. `now_ns`: when the
    /// drain begins.
    void read_clocks_in_time(std::uint64_t now_ns);

    /// To be called before a flush after which the profile is read, while what it is of may still be there.
    void name_what_is_gone() {
        requests_.write();
        pipeline_.name_what_is_gone();
    }
    /// What was sampled so far goes to the file, with a summary. The file is created when there are samples to keep.
    Result<void> flush();
    /// Like flush, for good: CPU time that could not be sampled gets its frame, and the summary says "complete".
    Result<void> close();
    /// What is not whole, by more than a twentieth, and what helps: one sentence, known once it is closed.
    const std::string& missing() const { return missing_; }
    void remark(const std::string& text) { pipeline_.summary().counters[std::string(counter::note) + text] = 1; }
    /// The memory of the event source, which counts as ours: the most of which it tells.
    void has_buffers(std::uint64_t bytes) { buffer_bytes_ = std::max(buffer_bytes_, bytes); }
    void set_counter(std::string_view name, std::uint64_t value) {
        if (value != 0) pipeline_.summary().counters[std::string(name)] = value;
    }
    void died(const CrashRecord& note) { pipeline_.host(note.read(start_ns_)); }
    /// Removes a file that was created but got no sample: before exec, since no code of ours runs after it.
    void drop_empty_file() {
        if (!has_content()) file_.remove();
    }

    /// The profile should go on in another file and with other tables. To be asked after a flush.
    bool outgrown() { return file_.full() || tables_full(); }
    bool tables_full();
    /// Whether the file is small again after this. `by`: see ProfileFile.
    bool compact(const ProfileFile::Compaction& by) { return !tables_full() && file_.compact(by); }
    /// Lets the file grow to `most_bytes`, where there can be no other. False if the file or a table may not grow.
    bool grow(std::uint64_t most_bytes);

    /// Samples of the run's own event, or such as were lost.
    bool has_cpu_samples() {
        return pipeline_.summary().samples + pipeline_.summary().lost + pipeline_.ledger().lost_unassigned() != 0;
    }
    bool has_samples() {
        return has_cpu_samples() || pipeline_.has_more_events() || (allocations_ && allocations_->has_samples()) ||
               (off_cpu_ && off_cpu_->has_samples()) || (outside_ != nullptr && outside_->has_samples()) ||
               (pipeline_.ledger().wrote() && process_cpu_ns_ >= how_.least_cpu_ns);
    }
    /// Whether there is something worth a file: there may be thousands of processes of a few milliseconds that no
    /// sample hit, and that counted no units of work.
    bool has_content() { return has_samples() || counted_any_ || requests_.any(); }
    /// Whether it may be that of a launcher (env, nice), which leaves its name to the program that it becomes: no file
    /// yet, no sample of CPU time, of which it used little.
    bool is_launchers() {
        return !file_.created() && !counted_any_ && !requests_.any() && !has_cpu_samples() &&
               !(allocations_ && allocations_->has_samples()) && process_cpu_ns_ < how_.least_cpu_ns;
    }
    bool take_haste() { return pipeline_.take_haste(); }
    std::uint64_t samples() { return pipeline_.summary().hits; }

private:
    Result<void> count_from(const CountedTo& from);
    void read_process_clocks();
    void read_units();
    void write_account();  // into the summary
    void note_what_is_not_permitted();
    std::uint64_t used_ns() const;

    const RunInfo run_;
    const HowSampled how_;
    const CpuClocks& clocks_;
    const std::uint64_t start_ns_;
    std::uint64_t buffer_bytes_ = 0;
    ProfileFile file_;
    Pipeline pipeline_;
    std::optional<OffCpu> off_cpu_;
    Requests requests_;
    EventId next_event_ = 1;
    std::optional<Allocations> allocations_;
    OutsideEvent* outside_ = nullptr;
    UsageAccount usage_;
    bool running_ = false;
    std::uint64_t next_clocks_ns_ = 0;
    std::uint64_t counted_time_ns_ = 0, counted_process_ns_ = 0, counted_own_ns_ = 0;  // clocks, as last read
    UnitCounts counted_units_;
    bool counted_any_ = false;
    std::uint64_t duration_ns_ = 0, process_cpu_ns_ = 0, own_cpu_ns_ = 0;
    std::vector<EndedThread> ended_;  // reported in the last round
    std::string missing_;
};

}  // namespace flameprobe
