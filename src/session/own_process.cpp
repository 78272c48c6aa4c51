#include "session/own_process.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "sandbox/host_restrictions.hpp"

namespace flameprobe {
namespace {

// The kernel's answer: getpid may be interposed, and glibc's of long ago was cached over vfork.
int real_pid() noexcept { return static_cast<int>(::syscall(SYS_getpid)); }

// Tells a forked child apart without a system call: it finds the page empty.
const volatile char* make_mark() noexcept {
    constexpr std::size_t size = 4096;
    void* const page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    auto* const mark = static_cast<char*>(page);
    *mark = 1;
    ::madvise(page, size, MADV_WIPEONFORK);
    return mark;
}

}  // namespace

OwnProcess::OwnProcess() noexcept : pid_(real_pid()), mark_(make_mark()) {}

bool OwnProcess::is_here() const noexcept { return host_is_filtered ? marked() : real_pid() == pid_; }
bool OwnProcess::is_surely_here() const noexcept { return marked() && real_pid() == pid_; }

}  // namespace flameprobe
