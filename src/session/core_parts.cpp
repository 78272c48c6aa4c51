// Part of libflameprobe-core.so only, which has libdw and libelf linked in: a host may export any of their names, or of
// the names that they call, and as shared libraries they would call the host's functions. Debian's archives are
// compiled for programs, whose thread-local storage has a fixed place (local-exec TLS). So the three members with such
// storage are replaced: where libdw and libelf note errors, and where libdw gets memory.
//
// A host may have a malloc of its own under libc's name, for one thread only perhaps. The core calls libc's
// (preload/core.cpp). But libc's own functions call the host's: so those that allocate, and that the collector needs,
// are here.
#include <elfutils/libdw.h>
#include <libelf.h>
#include <search.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>
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

using Compare = int (*)(const void*, const void*);
struct Less {
    Compare compare;
    bool operator()(const void* one, const void* other) const { return compare(one, other) < 0; }
};
/// What tsearch(3) gives a pointer to begins with the key's address.
using Tree = std::set<const void*, Less>;

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

void* tsearch(const void* key, void** root, Compare compare) {
    if (root == nullptr) return nullptr;
    try {
        if (*root == nullptr) *root = new Tree(Less{compare});
        return const_cast<const void**>(&*static_cast<Tree*>(*root)->insert(key).first);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void* tfind(const void* key, void* const* root, Compare) {
    if (root == nullptr || *root == nullptr) return nullptr;
    const Tree& tree = *static_cast<const Tree*>(*root);
    const auto found = tree.find(key);
    return found == tree.end() ? nullptr : const_cast<const void**>(&*found);
}
void tdestroy(void* root, void (*free_key)(void*)) {
    const std::unique_ptr<Tree> tree(static_cast<Tree*>(root));
    if (tree == nullptr) return;
    for (const void* const key : *tree) free_key(const_cast<void*>(key));
}

char* strdup(const char* text) noexcept {
    const std::size_t size = std::strlen(text) + 1;
    void* const copy = std::malloc(size);
    return copy == nullptr ? nullptr : static_cast<char*>(std::memcpy(copy, text, size));
}

// What makes names readable, which the drawing program does. Defined here, it keeps the archive's own from being linked
// in. Called by libstdc++'s handler of uncaught exceptions only.
char* __cxa_demangle(const char*, char*, std::size_t*, int* status);
char* __cxa_demangle(const char*, char*, std::size_t*, int* status) {
    if (status != nullptr) *status = -1;
    return nullptr;
}

}  // extern "C"
