// What the cases of work.cpp are made of. Every copy of it has its own.
#pragma once

#define NOINLINE __attribute__((noinline))

namespace {

template <int n>
struct Name {
    static constexpr char text[] = {'L', '0' + n / 100, '0' + n / 10 % 10, '0' + n % 10, '\0'};
};

NOINLINE void burn(int rounds) {
    for (int i = 0; i < rounds; ++i) asm volatile("" : : : "memory");
}

// Frames that cover what was on the stack before and leave it as it is.
NOINLINE void cover(int rounds) {
    char untouched[3000];
    asm volatile("" : : "r"(untouched) : "memory");
    burn(rounds);
    asm volatile("" : : "r"(untouched) : "memory");
}

thread_local unsigned random_state = 12345;
unsigned next_random() { return random_state = random_state * 1103515245 + 12345; }

}  // namespace
