// Which threads were seen, and how much CPU time each used while sampling was on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/sink.hpp"

namespace flameprobe {

/// The collector thread only.
class ThreadRegistry {
public:
    explicit ThreadRegistry(ProfileSink& sink) : sink_(sink) {}

    /// The thread that has this tid now; a tid that was reused is another thread.
    ThreadId find(std::uint32_t tid);
    /// For what is known of the process only: a thread of its own, with tid 0, so that it is put down to no other.
    ThreadId unknown();
    void renamed(std::uint32_t tid, std::string_view name);
    void ended(std::uint32_t tid);
    void count(ThreadId thread, std::uint64_t weight) { accounts_[thread].samples += weight; }

    /// Reads the CPU clocks of all threads that live; those that ended keep what was read last.
    void read_clocks();
    /// The time from now on counts: for a start in the middle of the host's life.
    void reset_clocks();
    const std::vector<ThreadAccount>& accounts() const { return accounts_; }
    std::size_t memory() const;  // bytes, estimated

private:
    ThreadId add(std::uint32_t tid, std::string_view name);
    static constexpr ThreadId none = ~ThreadId{0};

    ProfileSink& sink_;
    std::unordered_map<std::uint32_t, ThreadId> living_;
    std::unordered_map<std::uint32_t, std::uint64_t> bases_;  // tid to its CPU clock when sampling began
    std::vector<ThreadAccount> accounts_;
    std::vector<Thread> threads_;
    ThreadId unknown_ = none;
};

}  // namespace flameprobe
