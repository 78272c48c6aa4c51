// Part of libflameprobe-core.so only, which has libdw and libelf linked in: a host may export any of their names, or of
// the names that they call, and as shared libraries they would call the host's functions. Debian's archives are
// compiled for programs, whose thread-local storage has a fixed place (local-exec TLS). So the three members with such
// storage are replaced: where libdw and libelf note errors, and where libdw gets memory.
#include <elfutils/libdw.h>
#include <libelf.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/host_process.hpp"

namespace flameprobe {
namespace {

thread_local int libdw_error = 0, libelf_error = 0;

int take(int& error) { return std::exchange(error, 0); }

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

/// What one Dwarf has got. It is for one thread at a time.
class Blocks {
public:
    /// Null if there is no memory.
    void* get(std::size_t bytes, std::size_t alignment) {
        void* place = free_;
        if (std::align(alignment, bytes, place, room_) == nullptr) {
            const std::size_t size = std::max(block_bytes, bytes + alignment);
            blocks_.emplace_back(std::malloc(size));
            place = blocks_.back().get();
            room_ = place == nullptr ? 0 : size;
            if (place == nullptr || std::align(alignment, bytes, place, room_) == nullptr) return nullptr;
        }
        free_ = static_cast<std::byte*>(place) + bytes;
        room_ -= bytes;
        return place;
    }

private:
    static constexpr std::size_t block_bytes = 4096;

    std::vector<std::unique_ptr<void, Free>> blocks_;
    void* free_ = nullptr;
    std::size_t room_ = 0;
};

/// Of all Dwarfs of the process. Never destroyed: see the collector's end.
class AllBlocks {
public:
    Blocks& of(const Dwarf* dwarf) {
        const std::scoped_lock lock(mutex_);
        return blocks_[dwarf];
    }
    void release(const Dwarf* dwarf) {
        const std::scoped_lock lock(mutex_);
        blocks_.erase(dwarf);
    }

private:
    std::mutex mutex_;
    std::unordered_map<const Dwarf*, Blocks> blocks_;  // references stay valid
};

alignas(AllBlocks) constinit std::byte blocks_place[sizeof(AllBlocks)]{};
constinit std::atomic<pid_t> blocks_of{0};  // the process; negative while they are being made

// A forked child begins with none: a lock that its parent's collector held would be held for ever there, and it uses no
// Dwarf of its parent's.
AllBlocks& all_blocks() {
    auto* const blocks = reinterpret_cast<AllBlocks*>(blocks_place);
    const pid_t here = host_process();
    for (pid_t known = blocks_of.load(std::memory_order_acquire); known != here;
         known = blocks_of.load(std::memory_order_acquire)) {
        if (known == -here || !blocks_of.compare_exchange_strong(known, -here)) continue;
        new (blocks) AllBlocks;
        blocks_of.store(here, std::memory_order_release);
    }
    return *blocks;
}

/// Head of libdw's blocks (libdwP.h).
struct Block {
    std::size_t size, remaining;
    Block* previous;
};

// Never of use, so libdw calls __libdw_allocate. libdw gives memory back to it.
thread_local Block full{};

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

extern "C" {

void __libdw_seterrno(int error);
void __libelf_seterrno(int error);
Block* __libdw_alloc_tail(Dwarf* dwarf);
Block* __libdw_thread_tail(Dwarf* dwarf);
void* __libdw_allocate(Dwarf* dwarf, std::size_t bytes, std::size_t alignment);
[[noreturn]] void __libdw_oom();
int __real_dwarf_end(Dwarf* dwarf);
int __wrap_dwarf_end(Dwarf* dwarf);

void __libdw_seterrno(int error) { libdw_error = error; }
int dwarf_errno() { return take(libdw_error); }
void __libelf_seterrno(int error) { libelf_error = error; }
int elf_errno() { return take(libelf_error); }

Block* __libdw_alloc_tail(Dwarf*) {
    full = {};
    return &full;
}
Block* __libdw_thread_tail(Dwarf*) { return &full; }
// libdw's stack frames hold nothing that would have to be released.
void* __libdw_allocate(Dwarf* dwarf, std::size_t bytes, std::size_t alignment) {
    void* const memory = all_blocks().of(dwarf).get(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
// Without a Dwarf's own handler, since memory that lacks is always an exception here.
void __libdw_oom() { throw std::bad_alloc(); }
Dwarf_OOM dwarf_new_oom_handler(Dwarf*, Dwarf_OOM) { return nullptr; }

// The linker puts it in the place of dwarf_end (--wrap).
int __wrap_dwarf_end(Dwarf* dwarf) {
    const int result = __real_dwarf_end(dwarf);
    all_blocks().release(dwarf);
    return result;
}

}  // extern "C"
