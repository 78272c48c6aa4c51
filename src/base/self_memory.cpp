#include "base/self_memory.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/descriptor.hpp"
#include "base/host_process.hpp"

namespace flameprobe {
namespace {

constexpr std::uint64_t page = 4096;  // the smallest there is; finer than needed elsewhere

/// For where a container or an emulator refuses process_vm_readv.
ssize_t read_through_proc(std::uint64_t address, std::span<std::byte> out) noexcept {
    const Descriptor memory(::open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC));
    return memory ? ::pread(memory.get(), out.data(), out.size(), static_cast<off_t>(address)) : -1;
}

// In the collector's descriptor table: no thread with another table calls read_self().
constinit std::atomic<int> pipe_out{-1}, pipe_in{-1};

/// The kernel copies into a pipe what is mapped, and gives EFAULT otherwise.
ssize_t read_through_pipe(std::uint64_t address, std::span<std::byte> out) noexcept {
    const int in = pipe_in.load(std::memory_order_relaxed);
    if (in < 0) return -1;
    const ssize_t copied = ::write(in, reinterpret_cast<const void*>(address), std::min<std::size_t>(out.size(), page));
    return copied <= 0 ? copied : ::read(pipe_out.load(std::memory_order_relaxed), out.data(), out.size());
}

ssize_t read_once(std::uint64_t address, std::span<std::byte> out) noexcept {
    if (!may_ask_for_host_memory()) return -1;
    const iovec local{out.data(), out.size()};
    const iovec remote{reinterpret_cast<void*>(address), out.size()};
    const bool own = !is_watched_from_outside();
    ssize_t got = ::process_vm_readv(own ? ::gettid() : host_process(), &local, 1, &remote, 1, 0);
    if (!own && got < 0 && errno == EPERM) host_memory_is_hidden();
    if (!own || got >= 0 || (errno != ENOSYS && errno != EPERM)) return got;
    got = read_through_proc(address, out);
    return got < 0 ? read_through_pipe(address, out) : got;
}

}  // namespace

void prepare_read_self() noexcept {
    int ends[2] = {-1, -1};  // what a forked child finds here are its parent's
    [[maybe_unused]] const int failed = ::pipe2(ends, O_CLOEXEC | O_NONBLOCK);
    pipe_out.store(ends[0], std::memory_order_relaxed);
    pipe_in.store(ends[1], std::memory_order_relaxed);
}

std::size_t read_self(std::uint64_t address, std::span<std::byte> out) noexcept {
    const int saved = errno;
    std::size_t done = 0;
    while (done < out.size()) {
        ssize_t got = read_once(address + done, out.subspan(done));
        if (got <= 0) {
            // A range that is cut short may fail as a whole (mm/process_vm_access.c copies page by page, but gives up
            // where it cannot pin all of a batch): try up to the next page alone.
            const std::uint64_t rest = page - ((address + done) & (page - 1));
            if (out.size() - done <= rest) break;
            got = read_once(address + done, out.subspan(done, rest));
        }
        if (got <= 0) break;
        done += static_cast<std::size_t>(got);
    }
    errno = saved;
    return done;
}

}  // namespace flameprobe
