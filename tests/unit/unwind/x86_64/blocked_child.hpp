// A process whose threads wait for ever, each in one kind of wait below frames of one shape (blocked_subjects.cpp).
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

extern "C" {
void blocked_plain(int kind);
void blocked_frames(int kind);
void blocked_guarded(int kind);
void blocked_unoptimised(int kind);
}

namespace flameprobe::testing {

inline constexpr int blocked_kinds = 14;
inline constexpr void (*blocked_subjects[])(int) = {blocked_plain, blocked_frames, blocked_guarded,
                                                    blocked_unoptimised};

/// The share of the stacks rooted with all registers that must be rooted without them, too.
#ifdef __clang__
inline constexpr double least_recovered = 0.97;  // one of its 57 stacks is cut
#else
inline constexpr double least_recovered = 0.99;
#endif

inline std::vector<pid_t> threads_of(pid_t process) {
    std::vector<pid_t> tids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task"))
        tids.push_back(static_cast<pid_t>(std::stol(entry.path().filename())));
    return tids;
}

/// Forked, so that this process's code map is the child's too. The caller kills it. `tids` gets its threads.
inline pid_t start_blocked_child(std::vector<pid_t>& tids) {
    constexpr std::size_t threads = std::size(blocked_subjects) * blocked_kinds;
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        constexpr auto wait_for_ever = [](void* number) -> void* {
            const auto at = reinterpret_cast<std::uintptr_t>(number);
            blocked_subjects[at / blocked_kinds](static_cast<int>(at % blocked_kinds));
            return nullptr;
        };
        for (std::uintptr_t i = 0; i < threads; ++i) {
            pthread_t thread;
            if (pthread_create(&thread, nullptr, wait_for_ever, reinterpret_cast<void*>(i)) != 0) ::_exit(1);
        }
        for (;;) ::pause();
    }
    for (int i = 0; child > 0 && i < 5000 && tids.size() <= threads; ++i) {
        ::usleep(1000);
        tids = threads_of(child);
    }
    return child;
}

}  // namespace flameprobe::testing
