// The last stack of a host that dies of a fatal signal.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profile/model.hpp"

namespace flameprobe {

/// Written once, in the handler of the dying thread; read by the collector afterwards.
class CrashRecord {
public:
    /// Async-signal-safe: Boost.Stacktrace's safe dump into an array. The stack is the handler's, cut back to the frame
    /// that was interrupted.
    void write(int signal, const siginfo_t& info, const void* context) noexcept;

    bool written() const noexcept { return written_.load(std::memory_order_acquire); }
    Death read(std::uint64_t start_ns) const;

private:
    static constexpr std::size_t most_frames = 256;

    std::array<const void*, most_frames> addresses_{};
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::uint32_t signal_ = 0, code_ = 0, tid_ = 0;
    std::uint64_t fault_address_ = 0, time_ns_ = 0;
    std::atomic<bool> written_{false};  // release/acquire: orders everything above
};

}  // namespace flameprobe
