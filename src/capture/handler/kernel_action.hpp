// struct sigaction as the kernel has it (include/uapi/asm-generic/signal.h); libc's differs, and its call is
// interposed.
#pragma once

#include <cstdint>

#include "capture/handler/signal_return.hpp"

namespace flameprobe::handler {

struct KernelAction {
    std::uintptr_t handler = 0;  // 0: by default
    unsigned long flags = restorer_flag;
    void (*restorer)() = &flameprobe_signal_return;
    std::uint64_t mask = 0;

    static constexpr unsigned long restorer_flag = 0x04000000;
};

}  // namespace flameprobe::handler
