// What the handler knows of the thread that it interrupts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/handler/tick_weight.hpp"

namespace flameprobe::handler {

/// One of a fixed table. Claimed by the thread itself (attach_this_thread) or by the collector for it, freed by the
/// collector alone once the thread is gone. The alternate stack stays with the slot for its next thread.
struct alignas(64) ThreadSlot {
    // Written by the thread that claimed the slot, before `ready`.
    std::uint32_t generation = 0;  // grows with every thread: tells late signals of the one before
    std::int32_t timer = -1;       // the kernel's timer id; -1 if none could be had
    /// The thread's CPU time when it was attached: what it used before is not sampled.
    std::uint64_t attached_ns = 0;
    bool masked = false;     // the thread blocks our signal: its timer is not armed
    bool by_itself = false;  // the thread claimed it, not the collector
    /// Written by the collector: user code is sampled too, although State::kernel_only, since perf does not sample it.
    std::atomic<bool> all{false};
    bool duplicate = false;  // written by the collector: another slot has the thread, this one is kept for its stack
    char name[16] = {};      // comm as the thread itself told it; empty if it was not asked
    /// 1 when the above may be read. Release by the claimer, acquire by the collector.
    std::atomic<std::uint32_t> ready{0};
    TickWeight weight{};  // the thread's handler only, from `ready` on
    /// The thread's CPU time up to which its timer was noticed: by the thread's handler, for the collector.
    std::atomic<std::uint64_t> noticed_ns{0};
    /// Weight of the samples that found no free cell: added by the thread's handler, taken by the collector.
    std::atomic<std::uint64_t> dropped{0};
    /// What hits in user code stand for, where only the kernel is sampled (State::kernel_only): likewise.
    std::atomic<std::uint64_t> user_ns{0};
    /// The part of the address space that is this thread's stack for as long as it lives. Empty (low = ~0) until the
    /// collector has proved it from /proc/self/maps. high is written before low (release); the handler reads low first
    /// (acquire). Only low changes afterwards, and only downwards (the main thread's stack grows).
    std::atomic<std::uint64_t> stack_low{~std::uint64_t{0}};
    std::atomic<std::uint64_t> stack_high{0};
    /// The thread's control block (its fs base) as its handler saw it, for the collector to find the stack by: it lies
    /// at the upper end of every stack that glibc made. 0: no sample yet.
    std::atomic<std::uint64_t> control_block{0};
    /// Lowest usable byte of an alternate signal stack of ours; 0 if none could be mapped. Set once.
    std::atomic<std::uint64_t> alternate{0};
};

/// Room for the kernel's frame (up to 11.9 KB where AMX is used), for our handler (under 1 KB), and for handlers of the
/// host that ask for SA_ONSTACK without having given a stack, which would have run on the thread's stack without us.
inline constexpr std::size_t alternate_stack_bytes = 64 * 1024;

}  // namespace flameprobe::handler
