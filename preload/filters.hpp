#pragma once

namespace flameprobe {

/// The host is about to enter a filter of system calls with these words. Makes no system call that the host is not
/// allowed.
void before_filter(unsigned long operation, unsigned long flags, const void* program) noexcept;

/// In a forked child: forgets the thread of the parent that was entering a filter.
void forget_entering_in_child();

}  // namespace flameprobe
