#include "unwind/self_memory.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/descriptor.hpp"

namespace flameprobe {
namespace {

constexpr std::uint64_t page = 4096;  // the smallest there is; finer than needed elsewhere

/// Where a container or an emulator refuses process_vm_readv.
ssize_t read_through_proc(std::uint64_t address, std::span<std::byte> out) noexcept {
    const Descriptor memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
    return memory ? ::pread(memory.get(), out.data(), out.size(), static_cast<off_t>(address)) : -1;
}

ssize_t read_once(std::uint64_t address, std::span<std::byte> out) noexcept {
    const iovec local{out.data(), out.size()};
    const iovec remote{reinterpret_cast<void*>(address), out.size()};
    const ssize_t got = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
    return got < 0 && (errno == ENOSYS || errno == EPERM) ? read_through_proc(address, out) : got;
}

}  // namespace

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
