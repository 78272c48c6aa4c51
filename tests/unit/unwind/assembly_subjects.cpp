#include "assembly_subjects.hpp"

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

extern "C" {
void assembly_with_cfi(void (*callback)());
void assembly_with_debug_frame(void (*callback)());
void assembly_leaf();
void assembly_calls_back(void (*callback)());
void assembly_with_record(void (*callback)());
void assembly_ends_in_syscall();
}

namespace flameprobe::testing {
namespace {

volatile int calls = 0;
[[gnu::noinline]] void callback() {
    volatile int local[8] = {};
    local[calls & 7] = 1;
    calls = calls + local[0];
}

void with_cfi() {
    assembly_with_cfi(callback);
    calls = calls + 1;
}
void with_debug_frame() {
    assembly_with_debug_frame(callback);
    calls = calls + 1;
}
void ends_in_syscall() {
    assembly_ends_in_syscall();
    calls = calls + 1;
}
void leaf() {
    assembly_leaf();
    calls = calls + 1;
}
void calls_back() {
    assembly_calls_back(callback);
    calls = calls + 1;
}
void with_record() {
    assembly_with_record(callback);
    calls = calls + 1;
}

// outer: push %rbp; mov %rsp,%rbp; sub $16,%rsp; mov %rdi,(%rsp); call inner; call *(%rsp); leave; ret
// inner: push %rbp; mov %rsp,%rbp; xor %eax,%eax; nop; pop %rbp; ret
constexpr std::array<std::uint8_t, 33> machine_code{
    0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x3c, 0x24,  // up to mov
    0xe8, 0x05, 0x00, 0x00, 0x00, 0xff, 0x14, 0x24, 0xc9, 0xc3,              // up to ret
    0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0x90, 0x5d, 0xc3, 0x90, 0x90};

// As Python 3.12's: sub $8,%rsp; call *%rdi; add $8,%rsp; ret. And one that keeps registers: push %rbp; push %rbx;
// sub $1032,%rsp; call *%rdi; add $1032,%rsp; pop %rbx; pop %rbp; ret
constexpr std::array<std::uint8_t, 11> trampoline{0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
constexpr std::array<std::uint8_t, 21> keeper{0x55, 0x53, 0x48, 0x81, 0xec, 0x08, 0x04, 0x00, 0x00, 0xff, 0xd7,
                                              0x48, 0x81, 0xc4, 0x08, 0x04, 0x00, 0x00, 0x5b, 0x5d, 0xc3};

void (*made)(void (*)()) = nullptr;
void (*made_trampoline)(void (*)()) = nullptr;
void (*made_keeper)(void (*)()) = nullptr;
void run_made() {
    made(callback);
    calls = calls + 1;
}
void run_trampoline() {
    made_trampoline(callback);
    calls = calls + 1;
}
void run_keeper() {
    made_keeper(callback);
    calls = calls + 1;
}

constexpr std::array described{Subject{"assembly with CFI", with_cfi},
                               Subject{"assembly with .debug_frame", with_debug_frame},
                               Subject{"ends in syscall", ends_in_syscall}};
constexpr std::array undescribed{Subject{"assembly leaf without CFI", leaf},
                                 Subject{"assembly without CFI that calls back", calls_back},
                                 Subject{"assembly without CFI with a frame record", with_record}};
constexpr std::array run_time{Subject{"just-in-time code", run_made}, Subject{"a trampoline", run_trampoline},
                              Subject{"run-time code that keeps registers", run_keeper}};

}  // namespace

std::span<const Subject> subjects_with_assembly_tables() { return described; }
std::span<const Subject> subjects_without_tables() { return undescribed; }
std::span<const Subject> subjects_made_at_run_time() {
    if (made == nullptr) {
        void* const code =
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (code == MAP_FAILED) return {};
        auto make = [at = static_cast<std::uint8_t*>(code)](const auto& bytes) mutable {
            std::memcpy(at, bytes.data(), bytes.size());
            return reinterpret_cast<void (*)(void (*)())>(std::exchange(at, at + 64));
        };
        made = make(machine_code);
        made_trampoline = make(trampoline);
        made_keeper = make(keeper);
    }
    return run_time;
}

}  // namespace flameprobe::testing
