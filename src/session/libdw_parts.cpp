// Part of libflameprobe-core.so only, which has libdw and libelf linked in: a host may export any of their names, or of
// the names that they call, and as shared libraries they would call the host's functions. Debian's archives are
// compiled for programs, whose thread-local storage has a fixed place (local-exec TLS). So the three members with such
// storage are replaced: where libdw and libelf note errors, and where libdw gets memory.
#include <elfutils/libdw.h>
#include <libelf.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace flameprobe {
namespace {

thread_local int libdw_error = 0, libelf_error = 0;

int take(int& error) { return std::exchange(error, 0); }

/// Memory that a Dwarf has got: for us its one Dwarf_CFI.
struct alignas(std::max_align_t) OwnedBlock {
    const Dwarf* owner;
    OwnedBlock* next;
};

// A list without a lock, since a forked child could inherit the lock held. Blocks that the parent had are never freed
// in the child.
constinit std::atomic<OwnedBlock*> all_owned{nullptr};

void add(OwnedBlock* block) {
    block->next = all_owned;
    while (!all_owned.compare_exchange_weak(block->next, block)) {
    }
}

void release(const Dwarf* owner) {
    for (OwnedBlock *block = all_owned.exchange(nullptr), *next = nullptr; block != nullptr; block = next) {
        next = block->next;
        block->owner == owner ? std::free(block) : add(block);
    }
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
void* __libdw_allocate(Dwarf* dwarf, std::size_t bytes, std::size_t /*alignment*/) {
    auto* const block = static_cast<OwnedBlock*>(std::malloc(sizeof(OwnedBlock) + bytes));
    if (block == nullptr) throw std::bad_alloc();
    block->owner = dwarf;
    add(block);
    return block + 1;
}
// Without a Dwarf's own handler, since memory that lacks is always an exception here.
void __libdw_oom() { throw std::bad_alloc(); }
Dwarf_OOM dwarf_new_oom_handler(Dwarf*, Dwarf_OOM) { return nullptr; }

// The linker puts it in the place of dwarf_end (--wrap).
int __wrap_dwarf_end(Dwarf* dwarf) {
    const int result = __real_dwarf_end(dwarf);
    release(dwarf);
    return result;
}

}  // extern "C"
