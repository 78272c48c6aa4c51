// Part of libflameprobe-core.so only. A host may have a malloc of its own under libc's name, for one thread only
// perhaps. The core calls libc's (preload/core.cpp). But libc's own functions call the host's: so those that allocate,
// and that the collector needs, are here.
#include <search.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>

namespace {

using Compare = int (*)(const void*, const void*);
struct Less {
    Compare compare;
    bool operator()(const void* one, const void* other) const { return compare(one, other) < 0; }
};
/// What tsearch(3) gives a pointer to begins with the key's address.
using Tree = std::set<const void*, Less>;

}  // namespace

extern "C" {

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
