#include "base/own_threads.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace {

thread_local volatile char storage = 0;
constinit std::atomic<std::uintptr_t> in_own_heap{0};

/// A thread's first block of a size begins 16 bytes after a page. The sanitizers of GCC before 14 and LLVM before 17
/// take such storage for glibc 2.19's with a header. LeakSanitizer reads where that seems to lead, and the host ends
/// with status 1 (google/sanitizers#1409). Holds these blocks while the storage is allocated.
class FirstBlocks {
public:
    FirstBlocks() {
        for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i] = std::malloc(16 * i + 8);
    }
    ~FirstBlocks() {
        for (void* block : blocks_) std::free(block);
    }
    FirstBlocks(const FirstBlocks&) = delete;
    FirstBlocks& operator=(const FirstBlocks&) = delete;

private:
    std::array<void* volatile, 16> blocks_;  // volatile: a compiler may leave out malloc and free
};

}  // namespace

namespace flameprobe {

bool allocate_thread_storage() {
    // More than all of it: the dynamic linker allocates by malloc, too, and cannot fail. A thread for which libc could
    // map no arena gets nothing even where others do.
    constexpr std::size_t enough = std::size_t{64} << 10;
    void* const volatile memory = std::malloc(enough);  // volatile: a compiler may leave out malloc and free
    if (memory == nullptr) return false;
    in_own_heap = reinterpret_cast<std::uintptr_t>(memory);
    std::free(memory);
    const FirstBlocks first_blocks;
    storage = 1;  // the first access gives all of the library's
    return true;
}

std::uintptr_t own_heap() { return in_own_heap; }

}  // namespace flameprobe
