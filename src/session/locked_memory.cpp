#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory_map.hpp"
#include "base/own_threads.hpp"
#include "base/proc_maps.hpp"
#include "capture/alloc/host_allocations.hpp"
#include "session/host_resources.hpp"

namespace flameprobe {
namespace {

/// The libraries, perf's rings, and what the collector's heap has reserved, which glibc does for 64 MiB at once.
bool is_ours(const MapsLine& line) {
    constexpr std::uint64_t heap_bytes = std::uint64_t{64} << 20;
    const bool unused = line.path.empty() && !line.readable && !line.executable;
    if (unused) return line.start / heap_bytes == own_heap() / heap_bytes;
    return line.path == "anon_inode:[perf_event]" || line.path.find("/libflameprobe") != std::string_view::npos;
}

using Range = std::pair<std::uint64_t, std::uint64_t>;

/// What of it is not ours. Neighbours in memory are one line.
std::vector<Range> others_of(const MapsLine& line) {
    std::vector<Range> ours, others;
    const auto add = [&](std::uint64_t begin, std::uint64_t size) {
        if (begin < line.end && begin + size > line.start) ours.emplace_back(begin, begin + size);
    };
    for (const OwnRange& range : own_ranges) add(range.begin, range.size);
    if (const alloc::State* const state = alloc::host_state())
        add(reinterpret_cast<std::uint64_t>(state), state->bytes);
    std::sort(ours.begin(), ours.end());
    std::uint64_t at = line.start;
    for (const auto& [begin, end] : ours) {
        if (begin > at) others.emplace_back(at, begin);
        at = std::max(at, end);
    }
    if (line.end > at) others.emplace_back(at, line.end);
    return others;
}

}  // namespace

bool lock_host_memory(int flags) {
    rlimit limit{};
    const auto maps = read_proc_maps();
    if (!maps || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return false;
    std::vector<Range> host;
    std::uint64_t bytes = 0;
    for (const MapsLine& line : maps->lines) {
        if (is_ours(line)) continue;
        for (const auto& [begin, end] : others_of(line)) {
            host.emplace_back(begin, end);
            bytes += end - begin;
        }
    }
    if (bytes > limit.rlim_cur) return false;
    // Like mlockall, which locks also what cannot be read in now.
    for (const auto& [begin, end] : host)
        ::syscall(SYS_mlock2, begin, end - begin, (flags & MCL_ONFAULT) != 0 ? MLOCK_ONFAULT : 0);
    return (flags & MCL_FUTURE) == 0 || ::syscall(SYS_mlockall, flags & ~MCL_CURRENT) == 0;
}

}  // namespace flameprobe
