// Finds the threads of the host, and has their events and rings opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/event_source.hpp"
#include "capture/thread_rings.hpp"

namespace flameprobe {

/// New threads are found by records in their creators' rings, by their number, and by begins(). The collector only.
class ThreadFinder {
public:
    /// `rings` must outlive it, and have been opened when a thread is looked for.
    ThreadFinder(ThreadRings& rings, std::uint32_t main_thread) : rings_(rings), main_(main_thread) {}

    /// Opens events for threads that have none. `surely`: not only where something shows that there are such.
    void find(bool surely);
    /// After all events but the main thread's were closed.
    void find_all_anew();
    /// See EventSource::thread_begins().
    void begins(const NewThread& thread);
    /// Records told of it.
    void born(std::uint32_t tid) { born_.push_back(tid); }
    void ended(ThreadEvents& thread);
    /// Whether no thread is left that is sampled.
    bool all_ended();

    bool has_event(std::uint32_t tid) const { return !not_opened_.contains(tid); }
    /// See TaskList.
    bool only_main() const { return tasks_.only_main(); }
    std::size_t without_event() const { return not_opened_.size(); }
    /// A sentence on threads that got no event, if any was added since the last call.
    std::string take_refusal() { return std::exchange(refusal_, {}); }
    /// Threads that are not listed any more, and of whose end no record told.
    std::vector<std::uint32_t> take_gone() { return std::exchange(gone_, {}); }
    /// The name of a thread when its records began, to be used after the record of its birth; empty if that is not
    /// known.
    std::string name_at_birth(std::uint32_t tid);
    /// Other threads that may have been named before their records began.
    std::unordered_map<std::uint32_t, std::string> take_found() { return std::exchange(found_, {}); }
    /// No thread ran without the records that tell what it maps.
    bool know_all_mappings() const { return knows_all_mappings_; }
    void mappings_are_read() { knows_all_mappings_ = true; }

private:
    bool is_one_of_many();
    bool is_new(std::uint32_t tid) const;
    void meet(std::uint32_t tid);  // which is new, and has run without an event
    bool meet_born();
    void open_outlived();
    bool are_of_another_program() const;
    void open(const NewThread& thread, bool brief);
    std::uint64_t stood_for_ns() const;

    ThreadRings& rings_;
    const std::uint32_t main_;
    TaskList tasks_{host_proc_directory() + "/task"};
    std::size_t listed_ = 0;                                // threads, when they were listed last
    std::vector<std::uint32_t> born_;                       // told by records since
    std::unordered_map<std::uint32_t, std::string> found_;  // by tid: its name while it waited, if it did
    std::vector<std::uint32_t> gone_;
    std::unordered_set<std::uint32_t> not_opened_;  // threads that have no event, and get none
    NewThreadShare share_;                          // of new threads, lately
    // For the first so much of whose CPU time samples of new threads stand: then they get an event.
    std::unordered_map<std::uint32_t, std::uint64_t> stood_for_;
    std::uint64_t next_look_ns_ = 0;  // at these
    std::uint64_t next_list_ns_ = 0;
    std::string refusal_;
    std::size_t met_threads_ = 0;  // beside the main one
    bool knows_all_mappings_ = true;
};

}  // namespace flameprobe
