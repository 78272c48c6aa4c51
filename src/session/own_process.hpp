// Whether the calling code is still in the process that a session was made in: a forked child has its memory, and a
// child of vfork even shares it.
#pragma once

namespace flameprobe {

class OwnProcess {
public:
    /// This process.
    OwnProcess() noexcept;

    int pid() const noexcept { return pid_; }
    /// Async-signal-safe. Makes no system call in a host that is in a filter: a child of vfork cannot be told
    /// apart there, and would only end its parent's profile too early.
    bool is_here() const noexcept;
    /// The same, asking the kernel where a filter may be in force too; a forked child is told apart without that.
    bool is_surely_here() const noexcept;

private:
    bool marked() const noexcept { return mark_ == nullptr || *mark_ != 0; }

    const int pid_;
    const volatile char* const mark_;  // not zero in this process; null if there was no memory for it
};

}  // namespace flameprobe
