// Stacks that vanish, and the check of alignment: storms throw | longjmp | aligned. Several threads at once.
#include <csetjmp>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "alignment.hpp"
#include "host.h"

namespace {

struct Counter {
    explicit Counter(unsigned long& target) : target_(target) {}
    ~Counter() { ++target_; }
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;

private:
    unsigned long& target_;
};

[[gnu::noinline]] void dive(unsigned depth, unsigned long& unwound) {
    const Counter counter(unwound);
    if (depth == 0) throw std::runtime_error("bottom");
    dive(depth - 1, unwound);
    asm volatile("");
}

void throw_storm() {
    constexpr unsigned throws = 8000;
    unsigned long unwound = 0, caught = 0;
    for (unsigned i = 0; i < throws; ++i) {
        try {
            dive(i % 16, unwound);
        } catch (const std::runtime_error& error) {
            if (std::strcmp(error.what(), "bottom") == 0) ++caught;
        }
    }
    CHECK(caught == throws);
    CHECK(unwound == throws / 16 * 136);  // 1 to 16 frames, in turn
}

[[gnu::noinline, noreturn]] void jump_from(unsigned depth, std::jmp_buf& target) {
    if (depth > 0) jump_from(depth - 1, target);
    asm volatile("");  // so that every level has a frame
    std::longjmp(target, 5);
}

/// True if it came back by the jump.
[[gnu::noinline]] bool jump_and_land(unsigned depth) {
    std::jmp_buf target;
    if (setjmp(target) != 0) return true;
    jump_from(depth, target);
}

void longjmp_storm() {
    unsigned landed = 0;
    for (unsigned i = 0; i < 2000000; ++i) landed += jump_and_land(i % 16) ? 1 : 0;
    CHECK(landed == 2000000);
}

/// Nothing here is unaligned, and a handler of ours must not fault by what it inherits.
void aligned_storm() {
    for (const double end = cpu_ms() + 100; cpu_ms() < end;) {
        check_alignment(true);
        crunch(3'000'000);
        check_alignment(false);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    void (*storm)() = mode == "throw" ? throw_storm : mode == "aligned" ? aligned_storm : longjmp_storm;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(storm);
    storm();
    for (auto& thread : threads) thread.join();
    std::printf("storm over\n");
    return 0;
}
