// Stacks deeper than any copy of them, whose truth can be read from themselves.
//
// usage: deep recursion KIB SECONDS          one recursion of frames of half a kilobyte, which stands at its end
//        deep callers KIB SECONDS            such a recursion from two callers in turn, whose work has two names
//        deep repeated KIB SECONDS           the same callers, with a recursion from two places, the same way each time
//        deep varied KIB SECONDS             the same, called all the time, with half as many levels to all of them
//        deep frame KIB SECONDS              the same callers, with one frame of 33 KiB between them and their work
//        deep tree MICROSECONDS SECONDS      a random path of calls, left and taken anew every so often
//        deep even-tree MICROSECONDS SECONDS the same with frames of one size, so that every path ends at one address
// All times are CPU time. Callers take turns of 0.7 and 0.3 ms; PERCENT MICROSECONDS after the seconds sets the first
// one's share, and how long both turns are together.
//
// A path is drawn from a seed of 16 bits. Its outermost frames spell the seed, all others follow from it: a stack whose
// ends are of two different paths shows that by its names alone (tests/integration/deep_stacks.py draws the same path).
#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace deep {

/// The thread's CPU time, so that as many samples are taken on a busy machine as on a quiet one.
struct Clock {
    using duration = std::chrono::nanoseconds;
    using time_point = std::chrono::time_point<Clock, duration>;

    static time_point now() {
        timespec used{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return time_point(std::chrono::seconds(used.tv_sec) + duration(used.tv_nsec));
    }
};

constexpr unsigned seed_bits = 16;
constexpr unsigned path_length = 160;
constexpr unsigned recursion_frame = 512;

// No caller knows what a function does, nor whether it could be left out.
#ifdef __clang__
#define DEEP_APART gnu::noinline
#else
#define DEEP_APART gnu::noipa
#endif

/// Keeps the frame its size, and the call before it from becoming a jump.
#define KEEP(bytes) asm volatile("" : : "r"(bytes) : "memory")

struct Path {
    unsigned seed;
    Clock::duration stay;
};

[[DEEP_APART]] void bottom(const Path& path) {
    for (const auto end = Clock::now() + path.stay; Clock::now() < end;) {
        for (int i = 0; i < 2000; ++i) asm volatile("" : : : "memory");
    }
}

constexpr std::uint64_t next(std::uint64_t state) { return state * 6364136223846793005ULL + 1442695040888963407ULL; }

template <bool even, unsigned kind>
void node(const Path& path, std::uint64_t state, unsigned left);

/// Four calls by name, as a parser or an interpreter has them.
template <bool even>
[[gnu::always_inline]] inline void descend(const Path& path, std::uint64_t state, unsigned left) {
    if (left == 0) return bottom(path);
    switch (state >> 62) {
        case 0:
            return node<even, 0>(path, next(state), left - 1);
        case 1:
            return node<even, 1>(path, next(state), left - 1);
        case 2:
            return node<even, 2>(path, next(state), left - 1);
        default:
            return node<even, 3>(path, next(state), left - 1);
    }
}

template <bool even, unsigned kind>
[[DEEP_APART]] void node(const Path& path, std::uint64_t state, unsigned left) {
    char bytes[even ? 600 : 200 + 300 * kind];
    KEEP(bytes);
    descend<even>(path, state, left);
    KEEP(bytes);
}

template <bool even, unsigned bit>
void spell(const Path& path, unsigned left);

template <bool even>
[[gnu::always_inline]] inline void spell_rest(const Path& path, unsigned left) {
    if (left == 0) return descend<even>(path, next(path.seed), path_length);
    if ((path.seed >> (left - 1) & 1) != 0) return spell<even, 1>(path, left - 1);
    return spell<even, 0>(path, left - 1);
}

template <bool even, unsigned bit>
[[DEEP_APART]] void spell(const Path& path, unsigned left) {
    char bytes[600];
    KEEP(bytes);
    spell_rest<even>(path, left);
    KEEP(bytes);
}

[[DEEP_APART]] void recurse(const Path& path, unsigned left) {
    char bytes[recursion_frame - 32];
    KEEP(bytes);
    left == 0 ? bottom(path) : recurse(path, left - 1);
    KEEP(bytes);
}

/// From caller<1> only work<1> is reached, from caller<0> only work<0>.
template <unsigned which>
[[DEEP_APART]] void work(const Path& path) {
    bottom(path);
    KEEP(&path);
}

[[DEEP_APART]] void recurse_to(const Path& path, unsigned left) {
    char bytes[recursion_frame - 32];
    KEEP(bytes);
    if (left != 0)
        recurse_to(path, left - 1);
    else
        path.seed == 0 ? work<0>(path) : work<1>(path);
    KEEP(bytes);
}

/// As a parser that reads the same text again: its calls are no row of equal ones, but always the same.
[[DEEP_APART]] void repeat_to(const Path& path, unsigned left) {
    constexpr std::uint64_t places = 0x9e3779b97f4a7c15;
    char bytes[recursion_frame - 32];
    KEEP(bytes);
    if (left == 0) {
        path.seed == 0 ? work<0>(path) : work<1>(path);
    } else if ((places >> left % 64 & 1) != 0) {
        repeat_to(path, left - 1);
        KEEP(&left);
    } else {
        repeat_to(path, left - 1);
    }
    KEEP(bytes);
}

/// As PCRE2's matcher has in a program that gives its compiled code no stack of its own.
[[DEEP_APART]] void large_frame(const Path& path) {
    char bytes[33 << 10];
    KEEP(bytes);
    path.seed == 0 ? work<0>(path) : work<1>(path);
    KEEP(bytes);
}

using Recursion = void(const Path&, unsigned);

/// No recursion: the large frame.
template <unsigned which>
[[DEEP_APART]] void caller(Clock::duration stay, Recursion* recursion, unsigned frames) {
    const Path path{which, stay};
    recursion == nullptr ? large_frame(path) : recursion(path, frames);
    KEEP(&path);
}

struct Turns {
    Clock::duration first = std::chrono::microseconds(700), second = std::chrono::microseconds(300);
};

void take_turns(const Turns& turns, Recursion* recursion, unsigned frames, Clock::time_point end) {
    while (Clock::now() < end) {
        caller<0>(turns.first, recursion, frames);
        caller<1>(turns.second, recursion, frames);
    }
}

template <unsigned which>
void call_for(Clock::duration turn, unsigned frames, std::uint64_t& state) {
    for (const auto end = Clock::now() + turn; Clock::now() < end; state = next(state)) {
        const auto most = std::chrono::microseconds(100);
        caller<which>(turn < most ? turn : most, repeat_to, frames / 2 + (state >> 32) % (frames / 2));
    }
}

void take_varied_turns(const Turns& turns, unsigned frames, Clock::time_point end) {
    for (std::uint64_t state = 1; Clock::now() < end;) {
        call_for<0>(turns.first, frames, state);
        call_for<1>(turns.second, frames, state);
    }
}

template <bool even>
void walk_paths(Clock::duration stay, Clock::time_point end) {
    for (std::uint64_t state = 1; Clock::now() < end; state = next(state))
        spell_rest<even>({static_cast<unsigned>(state >> 48), stay}, seed_bits);
}

}  // namespace deep

int main(int argc, char** argv) {
    if (argc != 4 && argc != 6) return 2;
    const long amount = std::atol(argv[2]);
    const auto time =
        std::chrono::duration_cast<deep::Clock::duration>(std::chrono::duration<double>(std::atof(argv[3])));
    const auto end = deep::Clock::now() + time;
    const std::chrono::microseconds stay(amount);
    deep::Turns turns;
    if (argc == 6) {
        turns.first = std::chrono::microseconds(std::atol(argv[4]) * std::atol(argv[5]) / 100);
        turns.second = std::chrono::microseconds(std::atol(argv[5])) - turns.first;
    }
    const auto frames = static_cast<unsigned>(amount * 1024 / deep::recursion_frame - 1);
    if (std::strcmp(argv[1], "recursion") == 0)
        deep::recurse({0, time}, frames);
    else if (std::strcmp(argv[1], "callers") == 0)
        deep::take_turns(turns, deep::recurse_to, frames, end);
    else if (std::strcmp(argv[1], "repeated") == 0)
        deep::take_turns(turns, deep::repeat_to, frames, end);
    else if (std::strcmp(argv[1], "varied") == 0)
        deep::take_varied_turns(turns, frames, end);
    else if (std::strcmp(argv[1], "frame") == 0)
        deep::take_turns(turns, nullptr, 0, end);
    else if (std::strcmp(argv[1], "tree") == 0)
        deep::walk_paths<false>(stay, end);
    else if (std::strcmp(argv[1], "even-tree") == 0)
        deep::walk_paths<true>(stay, end);
    else
        return 2;
    return 0;
}
