// What a seccomp filter answers to a system call, worked out from its program: some answers can only be had by trying,
// and then it is too late.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <optional>
#include <span>

namespace flameprobe {

/// The program's return value (seccomp(2), SECCOMP_RET_*). Nothing for a program that the kernel would not take
/// (kernel/seccomp.c, seccomp_check_filter; kernel/bpf's checks of jumps and ends).
std::optional<std::uint32_t> filter_verdict(std::span<const sock_filter> program, const seccomp_data& call);

/// Whether a handler of ours could return in a thread that has entered the filter, a sock_fprog in this process, which
/// needs rt_sigreturn(2). True for one that cannot be read or that the kernel would not take.
bool lets_handlers_return(const void* filter);

}  // namespace flameprobe
