// The check of alignment, which a program of this CPU may switch on for itself (EFLAGS.AC).
#pragma once

inline void check_alignment(bool on) {
    constexpr unsigned long bit = 0x40000;
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq %1, (%%rsp)\n\torq %0, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
        :
        : "r"(on ? bit : 0), "r"(~bit)
        : "cc", "memory");
}
