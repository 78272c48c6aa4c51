/* Labels made at run time. Each distinct text is kept once, for ever, because samples refer to it by address and are
 * read later. Use them for things that are few (tenants, phases, request kinds), not for request numbers. C11 or C++17,
 * gcc or clang. Needs libc only. Every function is thread-safe, takes no lock and is safe across fork. */
#ifndef FLAMEPROBE_LABEL_H
#define FLAMEPROBE_LABEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define FLAMEPROBE_AS_(type, value) static_cast<type>(value)
extern "C" {
#else
#define FLAMEPROBE_AS_(type, value) ((type)(value))
#endif

/* Limits: longer texts are cut (never inside a UTF-8 character), further ones get FLAMEPROBE_LABEL_FULL's text. */
#define FLAMEPROBE_LABEL_BYTES 1023u
#define FLAMEPROBE_LABEL_LIMIT 65536u
#define FLAMEPROBE_LABEL_FULL "(too many labels)"
#define FLAMEPROBE_LABEL_NO_MEMORY "(no memory for the label)"
/* Inside one text: between key and value, and between the labels of nested scopes (outermost first). */
#define FLAMEPROBE_LABEL_KEY_END '\x1f'
#define FLAMEPROBE_LABEL_NEXT '\x1e'

enum { FLAMEPROBE_LABEL_BUCKETS_ = 1024 };

/* Followed by `size` bytes of text and a zero. */
struct flameprobe_label_node_ {
    struct flameprobe_label_node_* next;
    size_t size;
};

/* Lists that only ever grow at their heads. Weak: one table a module. */
extern struct flameprobe_label_node_* flameprobe_labels_v1[FLAMEPROBE_LABEL_BUCKETS_];
__attribute__((weak)) struct flameprobe_label_node_* flameprobe_labels_v1[FLAMEPROBE_LABEL_BUCKETS_];
extern size_t flameprobe_label_count_v1;
__attribute__((weak)) size_t flameprobe_label_count_v1;

static inline const char* flameprobe_node_text_(const struct flameprobe_label_node_* node) {
    return FLAMEPROBE_AS_(const char*, FLAMEPROBE_AS_(const void*, node + 1));
}

static inline const char* flameprobe_find_label_(const struct flameprobe_label_node_* node,
                                                 const struct flameprobe_label_node_* end, const char* text,
                                                 size_t size) {
    for (; node != end; node = node->next)
        if (node->size == size && memcmp(flameprobe_node_text_(node), text, size) == 0)
            return flameprobe_node_text_(node);
    return NULL;
}

static inline size_t flameprobe_cut_label_(const char* text, size_t size) {
    if (size <= FLAMEPROBE_LABEL_BYTES) return size;
    size = FLAMEPROBE_LABEL_BYTES;
    while (size > 0 && (FLAMEPROBE_AS_(unsigned char, text[size]) & 0xc0u) == 0x80u) --size;
    return size;
}

static inline uint64_t flameprobe_hash_label_(const char* text, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; ++i) hash = (hash ^ FLAMEPROBE_AS_(unsigned char, text[i])) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

/** The one copy of `text[0, size)`, zero-terminated, valid for ever. Never null. Not for signal handlers: it may
 *  allocate. Some 10 ns when the text is known. */
static inline const char* flameprobe_intern(const char* text, size_t size) {
    size = flameprobe_cut_label_(text, size);
    struct flameprobe_label_node_** const bucket =
        &flameprobe_labels_v1[flameprobe_hash_label_(text, size) % FLAMEPROBE_LABEL_BUCKETS_];
    /* Acquire pairs with the release below: a thread that sees a node sees its text. */
    struct flameprobe_label_node_* head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    const char* found = flameprobe_find_label_(head, NULL, text, size);
    if (found != NULL) return found;
    if (__atomic_fetch_add(&flameprobe_label_count_v1, 1, __ATOMIC_RELAXED) >= FLAMEPROBE_LABEL_LIMIT) {
        __atomic_fetch_sub(&flameprobe_label_count_v1, 1, __ATOMIC_RELAXED);
        return FLAMEPROBE_LABEL_FULL;
    }
    struct flameprobe_label_node_* const node =
        FLAMEPROBE_AS_(struct flameprobe_label_node_*, malloc(sizeof(struct flameprobe_label_node_) + size + 1));
    if (node == NULL) return FLAMEPROBE_LABEL_NO_MEMORY;
    node->size = size;
    char* const kept = FLAMEPROBE_AS_(char*, FLAMEPROBE_AS_(void*, node + 1));
    memcpy(kept, text, size);
    kept[size] = '\0';
    node->next = head;
    while (!__atomic_compare_exchange_n(bucket, &head, node, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        /* Another thread was first: the same text may be among what it added since. */
        found = flameprobe_find_label_(head, node->next, text, size);
        if (found != NULL) {
            free(node);
            __atomic_fetch_sub(&flameprobe_label_count_v1, 1, __ATOMIC_RELAXED);
            return found;
        }
        node->next = head;
    }
    return kept;
}

/** A label with a key, such as tenant = acme: shown as `tenant=acme`, and a label of its own in formats that have them.
 */
static inline const char* flameprobe_intern_pair(const char* key, size_t key_size, const char* value,
                                                 size_t value_size) {
    char text[FLAMEPROBE_LABEL_BYTES + 1];
    if (key_size > FLAMEPROBE_LABEL_BYTES / 2) key_size = FLAMEPROBE_LABEL_BYTES / 2;
    if (value_size > FLAMEPROBE_LABEL_BYTES - key_size) value_size = FLAMEPROBE_LABEL_BYTES - key_size;
    memcpy(text, key, key_size);
    text[key_size] = FLAMEPROBE_LABEL_KEY_END;
    memcpy(text + key_size + 1, value, value_size);
    return flameprobe_intern(text, key_size + 1 + value_size);
}

#ifdef __cplusplus
}
#endif

#undef FLAMEPROBE_AS_
#endif
