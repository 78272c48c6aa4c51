// The CPU this is built for. What depends on it: these constants, and the files named *_<cpu>.cpp.
#pragma once

#include "unwind/arch_aarch64.hpp"
#include "unwind/arch_x86_64.hpp"

namespace flameprobe {

#if defined(__x86_64__)
using Arch = ArchX86_64;
#elif defined(__aarch64__)
using Arch = ArchAarch64;
#else
#error "FlameProbe unwinds x86-64 and aarch64 only; src/unwind/arch_x86_64.hpp shows what another CPU needs"
#endif

}  // namespace flameprobe
