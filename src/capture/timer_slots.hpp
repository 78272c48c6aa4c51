#pragma once

#include <sys/syscall.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/proc.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "capture/handler/state.hpp"

namespace flameprobe {

/// CPU time of `tid` in nanoseconds; nullopt if the thread has ended: read_clock() gives 0 for such a one as for one
/// that has not run yet.
inline std::optional<std::uint64_t> cpu_time(std::uint32_t tid) {
    timespec time{};
    if (handler::system_call(SYS_clock_gettime, long{thread_cpu_clock(tid)}, &time) != 0) return std::nullopt;
    return ns_of(time);
}

/// Nanoseconds between the kernel's ticks: CPU timers expire no more often.
std::uint64_t tick_ns();

/// The handlers' table of threads, from the collector's side: slots and timers of threads that it finds. Collector
/// thread only; that thread itself gets no timer.
class TimerSlots {
public:
    explicit TimerSlots(handler::State& state);
    ~TimerSlots() { stop(); }
    TimerSlots(const TimerSlots&) = delete;
    TimerSlots& operator=(const TimerSlots&) = delete;

    /// The table is large, and few slots of it are ever claimed: these are the first ones.
    std::size_t size() const { return state_.used.load(std::memory_order_acquire); }
    handler::ThreadSlot& operator[](std::size_t index) const { return state_.slots[index]; }
    /// The thread that a slot is claimed for; 0: it is free.
    std::uint32_t owner(std::size_t index) const { return state_.owners[index].load(std::memory_order_acquire); }
    bool ready(std::size_t index) const { return (*this)[index].ready.load(std::memory_order_acquire) != 0; }
    const TaskList& tasks() const { return tasks_; }

    /// Attaches all threads that run and have no slot, or only one for which `ended` gives true.
    void attach_running(const std::function<bool(std::size_t)>& ended);
    void stop();
    void free(std::size_t index);

    bool blocks_our_signal(std::uint32_t tid) const { return blocking(tid) != Blocking::no; }
    /// Our handler blocks all signals too, and on a busy machine a thread may wait there for a CPU. It does not sleep.
    enum class Blocking {
        no,
        yes_or_in_handler,
        yes,
    };
    Blocking blocking(std::uint32_t tid) const;
    /// Whether the thread never runs user code, so that it takes no signal: one of io_uring's.
    bool runs_in_kernel(std::uint32_t tid) const;
    /// Ticks count for the thread, which has used `cpu_ns`, from now on.
    void arm(std::size_t index, std::uint64_t cpu_ns);

    /// Threads that have a timer, and that have none because the kernel (RLIMIT_SIGPENDING) or the table had none left,
    /// when last looked for.
    std::size_t with_timer() const { return with_timer_; }
    std::size_t without_timer() const { return without_timer_; }

private:
    bool attach(std::uint32_t tid);
    void count_timers();

    handler::State& state_;
    TaskList tasks_;
    std::vector<std::uint32_t> tids_;
    std::vector<std::uint32_t> attached_;
    const std::uint32_t self_;
    std::size_t without_slot_ = 0;  // at the last attach_running()
    std::size_t with_timer_ = 0;
    std::size_t without_timer_ = 0;
};

}  // namespace flameprobe
