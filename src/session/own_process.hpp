// Whether the calling code is still in the process that a session was made in: a forked child has its memory, and a
// child of vfork even shares it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "sandbox/host_restrictions.hpp"

namespace flameprobe {

class OwnProcess {
public:
    /// This process.
    OwnProcess() noexcept : pid_(::getpid()), mark_(make_mark()) {}

    int pid() const noexcept { return pid_; }
    /// Async-signal-safe. A forked child is told apart without a system call: in a pid namespace of its own it may have
    /// its parent's number. Makes none in a host that is in a filter either: a child of vfork cannot be told apart
    /// there, and would only end its parent's profile too early.
    bool is_here() const noexcept { return marked() && (host_is_filtered || ::getpid() == pid_); }
    /// The same, asking the kernel where a filter may be in force too.
    bool is_surely_here() const noexcept { return marked() && ::getpid() == pid_; }

private:
    /// Tells a forked child apart without a system call: it finds the page empty.
    static const volatile char* make_mark() noexcept {
        constexpr std::size_t size = 4096;
        void* const page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return nullptr;
        auto* const mark = static_cast<char*>(page);
        *mark = 1;
        ::madvise(page, size, MADV_WIPEONFORK);
        return mark;
    }
    bool marked() const noexcept { return mark_ == nullptr || *mark_ != 0; }

    const int pid_;
    const volatile char* const mark_;  // not zero in this process; null if there was no memory for it
};

}  // namespace flameprobe
