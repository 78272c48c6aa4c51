#include "memory_budget.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/number.hpp"
#include "base/proc.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

std::uint64_t budget = 0;  // 0: none

std::uint64_t number_of(const std::string& path) {
    std::string text = read_small_file(path.c_str()).value_or("");
    while (text.ends_with('\n')) text.pop_back();
    return number_in<std::uint64_t>(text).value_or(0);
}

/// Of files that were read once, which the kernel drops where memory is short.
std::uint64_t droppable(const std::string& group) {
    std::ifstream file(group + "/memory.stat");
    for (std::string name, value; file >> name >> value;)
        if (name == "inactive_file" || name == "total_inactive_file")
            return number_in<std::uint64_t>(value).value_or(0);
    return 0;
}

std::uint64_t left_in(const std::string& group, const char* limit, const char* usage) {
    const std::uint64_t most = number_of(group + limit);
    if (most == 0) return ~std::uint64_t{0};  // none, or "max"
    const std::uint64_t used = number_of(group + usage);
    return most - std::min(most, used - std::min(used, droppable(group)));
}

/// What the memory cgroups of this process leave, which the kernel enforces by killing one of their processes
/// (cgroups(7)): the host, which waits for its picture, may be the largest.
std::uint64_t left_by_cgroups() {
    std::uint64_t left = ~std::uint64_t{0};
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const bool second = line.starts_with("0::");
        const auto path = line.find(":memory:");
        if (!second && path == line.npos) continue;
        const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        for (std::string group = line.substr(second ? 3 : path + std::strlen(":memory:")); !group.empty();) {
            left = std::min(left, second ? left_in(root + group, "/memory.max", "/memory.current")
                                         : left_in(root + group, "/memory.limit_in_bytes", "/memory.usage_in_bytes"));
            group.resize(group == "/" ? 0 : std::max<std::size_t>(group.rfind('/'), 1));
        }
    }
    return left;
}

}  // namespace

std::uint64_t default_memory_budget() {
    constexpr std::uint64_t most = std::uint64_t{4} << 30;
    const auto pages = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
    const std::uint64_t half = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
    constexpr std::uint64_t least = std::uint64_t{4} << 20;  // to say so
    return std::max(std::min({most, half == 0 ? most : half, left_by_cgroups()}), least);
}

#ifdef __has_feature  // clang; gcc defines the other
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
// Its shadow memory alone is more than any budget.
void set_memory_budget(std::uint64_t /*bytes*/) {}
#else
void set_memory_budget(std::uint64_t bytes) {
    rlimit limit{};
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= bytes) return;
    limit.rlim_cur = bytes;
    if (setrlimit(RLIMIT_DATA, &limit) == 0) budget = bytes;
}
#endif

std::string memory_message() {
    if (budget == 0) return "there is not enough memory";
    return "it needs more than the " + bytes_text(budget) +
           " of memory that it may use; select a part (--thread, --scope)" +
           ", or raise that: flameprobe-render --max-memory 16G";
}

}  // namespace flameprobe
