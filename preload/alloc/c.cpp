// C's allocation functions.
#include <stddef.h>

#include "counting.hpp"
#include "interpose.hpp"

using namespace flameprobe::alloc;

namespace flameprobe::alloc {
namespace {

template <class Make>
__attribute__((noinline)) void* make_sampled(size_t size, Make make) {
    void* const address = make();
    counted(address, size);
    return address;
}

__attribute__((noinline)) void free_sampled(void* address) {
    Leaving leaving(address);
    if (leaving.is_early) return;
    leaving.is_gone();
    next.free(address);
}

/// A realloc is an allocation of the new size, and frees the old one.
template <class Move>
__attribute__((noinline)) void* move_sampled(void* old, size_t size, bool is_due, Move move) {
    Leaving leaving(old);
    void* const address = leaving.is_early ? move_early(old, size) : move();
    if (address != nullptr || size == 0)
        leaving.is_gone();
    else
        leaving.stays();
    if (is_due) counted(address, size);
    return address;
}

}  // namespace

void asking_free(void* address) {
    if (__builtin_expect(asked_about.may_have(address), 0)) return free_sampled(address);
    next.free(address);
}

}  // namespace flameprobe::alloc

FLAMEPROBE_INTERPOSED void* malloc(size_t size) {
    if (count(size)) return make_sampled(size, [size] { return next.malloc(size); });
    return next.malloc(size);
}

FLAMEPROBE_INTERPOSED void* calloc(size_t number, size_t size) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(number, size, &bytes)) return next.calloc(number, size);
    if (count(bytes)) return make_sampled(bytes, [=] { return next.calloc(number, size); });
    return next.calloc(number, size);
}

FLAMEPROBE_INTERPOSED void* realloc(void* old, size_t size) {
    const bool is_due = count(size);
    if (is_due || asked_about.may_have(old))
        return move_sampled(old, size, is_due, [=] { return next.realloc(old, size); });
    return next.realloc(old, size);
}

FLAMEPROBE_INTERPOSED void* reallocarray(void* old, size_t number, size_t size) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(number, size, &bytes)) return next.reallocarray(old, number, size);
    return realloc(old, bytes);
}

FLAMEPROBE_INTERPOSED void free(void* address) { __atomic_load_n(&host_free, __ATOMIC_RELAXED)(address); }

FLAMEPROBE_INTERPOSED void free_sized(void* address, size_t size) {
    if (__builtin_expect(asked_about.may_have(address), 0)) return free_sampled(address);
    next.free_sized(address, size);
}

FLAMEPROBE_INTERPOSED void free_aligned_sized(void* address, size_t alignment, size_t size) {
    if (__builtin_expect(asked_about.may_have(address), 0)) return free_sampled(address);
    next.free_aligned_sized(address, alignment, size);
}

FLAMEPROBE_INTERPOSED int posix_memalign(void** address, size_t alignment, size_t size) {
    const bool is_due = count(size);
    const int error = next.posix_memalign(address, alignment, size);
    if (is_due) counted(error == 0 ? *address : nullptr, size);
    return error;
}

FLAMEPROBE_INTERPOSED void* aligned_alloc(size_t alignment, size_t size) {
    if (count(size)) return make_sampled(size, [=] { return next.aligned_alloc(alignment, size); });
    return next.aligned_alloc(alignment, size);
}

FLAMEPROBE_INTERPOSED void* memalign(size_t alignment, size_t size) {
    if (count(size)) return make_sampled(size, [=] { return next.memalign(alignment, size); });
    return next.memalign(alignment, size);
}

FLAMEPROBE_INTERPOSED void* valloc(size_t size) {
    if (count(size)) return make_sampled(size, [=] { return next.valloc(size); });
    return next.valloc(size);
}

FLAMEPROBE_INTERPOSED void* pvalloc(size_t size) {
    if (count(size)) return make_sampled(size, [=] { return next.pvalloc(size); });
    return next.pvalloc(size);
}
