// A breakpoint in the code, which the kernel tells by SIGTRAP.
#pragma once

inline void breakpoint() { asm volatile("brk #0"); }
