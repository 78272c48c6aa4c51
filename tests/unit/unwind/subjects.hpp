// Functions whose every instruction is walked from. Compiled several times, with different flags.
#pragma once

#include <span>

namespace flameprobe::testing {

struct Subject {
    const char* name;
    void (*function)();
};

/// How many of them, the first, call no library.
constexpr std::size_t frame_pointer_subjects = 8;

std::span<const Subject> subjects_plain();    // -O2, no frame pointers
std::span<const Subject> subjects_frames();   // -O2, frame pointers
std::span<const Subject> subjects_guarded();  // -O2 -fcf-protection -fstack-clash-protection -fstack-protector-all
std::span<const Subject> subjects_unoptimised();

}  // namespace flameprobe::testing
