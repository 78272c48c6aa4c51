// struct sigaction as the kernel has it (include/uapi/asm-generic/signal.h); libc's differs, and its call is
// interposed.
#pragma once

#include <cstdint>

/// What the kernel jumps to after a handler (sigaction(2), SA_RESTORER); in src/arch.
extern "C" void flameprobe_signal_return();

namespace flameprobe::handler {

struct KernelAction {
    std::uintptr_t handler = 0;  // 0: by default
    unsigned long flags = restorer_flag;
    void (*restorer)() = &flameprobe_signal_return;
    std::uint64_t mask = 0;

    static constexpr unsigned long restorer_flag = 0x04000000;
};

}  // namespace flameprobe::handler
