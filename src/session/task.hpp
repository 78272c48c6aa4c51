// The collector as a task of its own: it shares the host's memory but is no thread of it. What checks that a process
// has one thread finds one; what ends the host, or replaces its image, or filters its system calls does not reach the
// task, which keeps the memory to finish the profile from (docs/decisions/0007).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/descriptor.hpp"
#include "base/memory_map.hpp"

namespace flameprobe {

/// Made by a thread of the host that was created for this, has every signal blocked and a descriptor table of its own,
/// which the task inherits. The task takes over that thread's thread-local storage, so libc and all libraries work in
/// it, once the thread has ended as any other does, for libc too.
class Task {
public:
    /// Whether there may be one: not under valgrind, which ends the program for such a clone, nor where a sanitizer
    /// keeps account of threads.
    static bool possible();

    /// In that thread, which must return from its start routine at once if this is true: `body` goes on in the task,
    /// and the task ends with it. False: there is no task (a limit, a filter), and the thread may go on itself.
    bool take_over(std::function<void()> body);

    /// In the task: whether the host has ended. It is a zombie at most.
    static bool host_ended();
    /// In the task: takes the host's user, groups and capabilities where they are others by now, so that the task can
    /// do no more than the program whose memory it shares.
    void follow_credentials() const;

    /// To be called in the task at every step of its work. A task that makes no progress ends within a minute of the
    /// host's end: it may be waiting for a lock, such as malloc's, that a killed thread of the host holds for ever.
    void progress() const;

    /// At the host's end, when the task has nothing left to do: waits for its end. Else the program's file, which it
    /// has mapped, could not be written yet when the host has ended; and where it is the host's child it would stay a
    /// zombie for ever where no process waits for orphans. Async-signal-safe.
    void reap() const noexcept;

    /// For every thread. The kernel writes 0 when a task has ended; before there is one it is 0 too.
    bool ended() const noexcept { return alive_.load(std::memory_order_acquire) == 0; }

private:
    static int begin(void* self);
    static int begin_between(void* self);
    int clone_task();
    void run();

    std::function<void()> body_;
    MemoryMap stack_;
    Descriptor host_;            // a pidfd
    int* thread_id_ = nullptr;   // where libc keeps the id of the thread that was taken over
    int thread_ = 0;             // the thread that was taken over
    char* sequences_ = nullptr;  // its restartable sequences
    std::atomic<int> child_{0};  // its id, where it is the host's child
    std::atomic<std::uint32_t> thread_alive_{1};
    std::atomic<std::uint32_t> alive_{0};
};

/// Waits for the end of a child of this process, of any kind. Gives up on one that does not end within a second.
/// Async-signal-safe; of what a filter may forbid it makes calls that are made while sampling too.
void reap_child(int child) noexcept;

}  // namespace flameprobe
