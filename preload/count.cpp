// Units of work (flameprobe/count.h). A thread adds in a block of its own, without a lock or an atomic instruction; the
// collector adds the blocks up. Blocks are never freed, and those of threads that have ended are used again.
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "base/host_names.hpp"
#include "cpu/instructions.hpp"
#include "interpose.hpp"
#include "parts.hpp"

// Of glibc: calls `destroy(object)` when the calling thread ends. Weak, as other libraries do not have it; a thread's
// block is not used again there.
extern "C" __attribute__((weak)) int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library);
extern "C" void* __dso_handle;

namespace flameprobe {
namespace {

constexpr unsigned most_names = 256;
using UnitNames = Names<most_names>;
constinit UnitNames names{};

struct Block {
    Block* next = nullptr;
    std::atomic<bool> in_use{true};
    uint64_t amounts[most_names] = {};
};
constinit std::atomic<Block*> blocks{nullptr};
constinit Block shared{};  // of threads for which there was no memory
__attribute__((tls_model("initial-exec"))) constinit thread_local Block* mine = nullptr;

void give_back(void* block) {
    mine = nullptr;
    static_cast<Block*>(block)->in_use.store(false, std::memory_order_release);
}

Block* unused_block() {
    for (Block* block = blocks.load(std::memory_order_acquire); block != nullptr; block = block->next) {
        bool taken = false;
        if (!block->in_use.load(std::memory_order_relaxed) && block->in_use.compare_exchange_strong(taken, true))
            return block;
    }
    void* const memory = ::mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* const block = new (memory) Block;
    block->next = blocks.load(std::memory_order_relaxed);
    while (!blocks.compare_exchange_weak(block->next, block, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return block;
}

__attribute__((noinline)) void count_slowly(const char* name, uint64_t amount) {
    const unsigned slot = names.claim(name);
    if (mine == nullptr) {
        Block* const block = unused_block();
        if (block == nullptr) {
            __atomic_fetch_add(&shared.amounts[slot], amount, __ATOMIC_RELAXED);
            return;
        }
        mine = block;
        if (&__cxa_thread_atexit_impl != nullptr) __cxa_thread_atexit_impl(give_back, block, &__dso_handle);
    }
    cpu::add(mine->amounts[slot], amount);
}

}  // namespace

size_t read_unit_counts(flameprobe_unit_count* counts, size_t most) {
    size_t found = 0;
    for (unsigned slot = 0; slot < most_names && found < most; ++slot) {
        const char* const name = names.name_of(slot);
        if (name == nullptr) continue;
        uint64_t sum = __atomic_load_n(&shared.amounts[slot], __ATOMIC_RELAXED);
        for (Block* block = blocks.load(std::memory_order_acquire); block != nullptr; block = block->next)
            sum += __atomic_load_n(&block->amounts[slot], __ATOMIC_RELAXED);
        if (sum != 0) counts[found++] = {name, sum};
    }
    return found;
}

}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED void flameprobe_count_units(const char* name, uint64_t amount) {
    if (name == nullptr) return;
    const unsigned slot = UnitNames::likely_slot(name);
    Block* const block = mine;
    if (block != nullptr && names.address[slot].load(std::memory_order_relaxed) == name) [[likely]]
        return cpu::add(block->amounts[slot], amount);
    count_slowly(name, amount);
}
