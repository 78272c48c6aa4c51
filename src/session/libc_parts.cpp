// Part of libflameprobe-core.so only. A host may have a malloc of its own under libc's name, for one thread only
// perhaps. The core calls libc's (preload/core.cpp). But libc's own functions call the host's: so those that allocate,
// and that the collector needs, are here.
#include <search.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace flameprobe {
namespace {

using Compare = int (*)(const void*, const void*);

/// What tsearch(3) gives a pointer to begins with the key's address.
struct Node {
    const void* key;
    Node *smaller, *larger;
    std::uint64_t priority;  // by chance, and higher than below it: so the tree is not deep (a treap)
};

std::uint64_t next_priority() noexcept {
    thread_local std::uint64_t state = 1;
    return state = state * 6364136223846793005U + 1442695040888963407U;
}

Node* make_node(const void* key) noexcept {
    auto* const node = static_cast<Node*>(std::malloc(sizeof(Node)));
    if (node != nullptr) *node = {key, nullptr, nullptr, next_priority() >> 32};
    return node;
}

void rotate(Node*& top, Node*& below, Node*& between) noexcept {
    Node* const riser = below;
    below = between;
    between = top;
    top = riser;
}

/// Gives the key's node, which is made if there is none; null if there is no memory.
Node* insert(Node*& top, const void* key, Compare compare) {
    if (top == nullptr) return top = make_node(key);
    const int order = compare(key, top->key);
    if (order == 0) return top;
    Node*& below = order < 0 ? top->smaller : top->larger;
    Node* const found = insert(below, key, compare);
    if (below != nullptr && below->priority > top->priority)
        rotate(top, below, order < 0 ? below->larger : below->smaller);
    return found;
}

Node* find(Node* at, const void* key, Compare compare) {
    while (at != nullptr) {
        const int order = compare(key, at->key);
        if (order == 0) return at;
        at = order < 0 ? at->smaller : at->larger;
    }
    return nullptr;
}

void destroy(Node* top, void (*free_key)(void*)) {
    if (top == nullptr) return;
    destroy(top->smaller, free_key);
    destroy(top->larger, free_key);
    free_key(const_cast<void*>(top->key));
    std::free(top);
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

extern "C" {

void* tsearch(const void* key, void** root, Compare compare) {
    return root == nullptr ? nullptr : insert(*reinterpret_cast<Node**>(root), key, compare);
}
void* tfind(const void* key, void* const* root, Compare compare) {
    return root == nullptr ? nullptr : find(static_cast<Node*>(*root), key, compare);
}
void tdestroy(void* root, void (*free_key)(void*)) { destroy(static_cast<Node*>(root), free_key); }

char* strdup(const char* text) noexcept {
    const std::size_t size = std::strlen(text) + 1;
    void* const copy = std::malloc(size);
    return copy == nullptr ? nullptr : static_cast<char*>(std::memcpy(copy, text, size));
}

}  // extern "C"
