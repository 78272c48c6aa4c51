// Each thread counts what it allocates, and samples it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "capture/alloc/state.hpp"
#include "cpu/instructions.hpp"
#include "next.hpp"

namespace flameprobe::alloc {

/// Null: the thread has none yet, or is at its end.
extern thread_local constinit Record* own_record __attribute__((tls_model("initial-exec")));

/// What `left` is where nothing is sampled.
inline constexpr uint64_t far_away = UINT64_MAX / 2;

/// Of an allocation after which no bytes are left to the next sample, or of a thread without a record.
__attribute__((noinline)) bool is_due(size_t size) noexcept;

/// Counts an allocation of `size` bytes. True: it must be given to counted() when it is made. Others may be made
/// meanwhile: by an allocator for itself, and in signal handlers.
inline bool count(size_t size) noexcept {
    Record* const record = own_record;
    if (__builtin_expect(record != nullptr, 1)) {
        cpu::add(record->calls, 1);
        if (__builtin_expect(!cpu::count_down(record->left, size), 1)) return false;
    }
    return is_due(size);
}

enum class Kind : uint8_t { of_allocator, mapping };

/// Of an allocation for which count() was true: null if it failed. Samples it, if it is its turn.
__attribute__((noinline)) void counted(void* address, size_t size, Kind kind = Kind::of_allocator) noexcept;

/// Address space is about to be unmapped or moved, where sampled mappings may be. Of no bytes it says nothing.
struct Unmapping {
    Unmapping(const void* at, size_t size) noexcept;
    /// To be called once it is done, with the new place of what was moved.
    void is_done(const void* moved_to = nullptr) noexcept;

private:
    State* state = nullptr;  // null: no mapping was sampled that could end by this
    LiveTable::Freed what{};
};

/// To be called before `address`, which `asked_about` may have, is freed or moved.
struct Leaving {
    explicit Leaving(void* address) noexcept;
    bool is_early = false;  // dlsym's: it must not be given to the allocator
    std::uintptr_t address;
    LiveTable::NodeNumber node = 0;
    void is_gone() noexcept;
    void stays() noexcept;
};

bool is_exempt() noexcept;
void exempt_this_thread(int begin) noexcept;
/// To be called once, early.
void prepare() noexcept;
void look_up_operators() noexcept;

}  // namespace flameprobe::alloc
