#include "memory_budget.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "render/numbers.hpp"

namespace flameprobe {

namespace {

std::uint64_t budget = 0;  // 0: none

}  // namespace

std::uint64_t default_memory_budget() {
    constexpr std::uint64_t most = std::uint64_t{4} << 30;
    const auto pages = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
    const std::uint64_t half = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
    return half == 0 ? most : std::min(most, half);
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
