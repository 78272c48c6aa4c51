// Collectors of other tests may not have ended yet: tests that count threads or the process's CPU time wait for that.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstddef>

#include "base/proc.hpp"

namespace flameprobe::test {

#ifdef __SANITIZE_THREAD__
inline constexpr std::size_t threads_alone = 2;  // TSan's own one, since the first pthread_create
#else
inline constexpr std::size_t threads_alone = 1;
#endif

inline void sleep_until_alone() {
    for (int tries = 0; tries < 60'000 && list_threads().size() > threads_alone; ++tries) ::usleep(1000);
    REQUIRE(list_threads().size() <= threads_alone);
}

}  // namespace flameprobe::test
