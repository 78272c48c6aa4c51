#include "assembly_subjects.hpp"

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "machine_code.hpp"

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
        auto make = [at = static_cast<char*>(code)](const auto& instructions) mutable {
            const auto bytes = std::as_bytes(std::span(instructions));
            std::memcpy(at, bytes.data(), bytes.size());
            __builtin___clear_cache(at, at + bytes.size());
            return reinterpret_cast<void (*)(void (*)())>(std::exchange(at, at + 64));
        };
        made = make(machine_code);
        made_trampoline = make(trampoline);
        made_keeper = make(keeper);
    }
    return run_time;
}

}  // namespace flameprobe::testing
