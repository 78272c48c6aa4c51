#include "collect/crash_record.hpp"

#include <ucontext.h>

#include <algorithm>
#include <boost/stacktrace/safe_dump_to.hpp>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "cpu/signal_frame.hpp"

namespace flameprobe {
void CrashRecord::write(int signal, const siginfo_t& info, const void* context) noexcept {
    if (written()) return;
    signal_ = static_cast<std::uint32_t>(signal);
    code_ = static_cast<std::uint32_t>(info.si_code);
    tid_ = own_tid();
    time_ns_ = monotonic_ns();
    const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
    if (fault && info.si_code > 0) fault_address_ = reinterpret_cast<std::uint64_t>(info.si_addr);
    const std::size_t got = boost::stacktrace::safe_dump_to(addresses_.data(), sizeof addresses_);
    count_ = std::min(got, most_frames);
    while (count_ != 0 && addresses_[count_ - 1] == nullptr) --count_;
    const auto end = addresses_.begin() + static_cast<std::ptrdiff_t>(count_);
    const std::uint64_t pc = cpu::interrupted_pc(*static_cast<const ucontext_t*>(context));
    const auto interrupted = std::find(addresses_.begin(), end, reinterpret_cast<const void*>(pc));
    if (interrupted != end) first_ = static_cast<std::size_t>(interrupted - addresses_.begin());
    written_.store(true, std::memory_order_release);
}

Death CrashRecord::read(std::uint64_t start_ns) const {
    Death death;
    death.signal = signal_;
    death.code = code_;
    death.tid = tid_;
    death.fault_address = fault_address_;
    death.time_ns = time_ns_ > start_ns ? time_ns_ - start_ns : 0;
    for (std::size_t at = first_; at < count_; ++at) {
        const auto address = reinterpret_cast<std::uint64_t>(addresses_[at]);
        death.addresses.push_back(at == first_ ? address : address - 1);
    }
    return death;
}

}  // namespace flameprobe
