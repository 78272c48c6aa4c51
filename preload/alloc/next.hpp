// The allocator that serves the host: the functions of the next library in the loading order. Each pointer first has a
// function that looks all of them up, so that a call costs no question.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "capture/alloc/live_table.hpp"

namespace flameprobe::alloc {

struct Next {
    void* (*malloc)(size_t);
    void* (*calloc)(size_t, size_t);
    void* (*realloc)(void*, size_t);
    void* (*reallocarray)(void*, size_t, size_t);
    void (*free)(void*);
    void (*free_sized)(void*, size_t);
    void (*free_aligned_sized)(void*, size_t, size_t);
    int (*posix_memalign)(void**, size_t, size_t);
    void* (*aligned_alloc)(size_t, size_t);
    void* (*memalign)(size_t, size_t);
    void* (*valloc)(size_t);
    void* (*pvalloc)(size_t);
    void* (*mmap)(void*, size_t, int, int, int, off_t);
    int (*munmap)(void*, size_t);
    void* (*mremap)(void*, size_t, size_t, int, ...);
};

extern Next next;
/// What the host's free() is: the allocator's, where it has nothing to ask. Then it costs one jump.
using HostFree = void(void*);
extern HostFree* host_free;
/// The allocator's free, but of addresses that `asked_about` may have.
HostFree asking_free;
/// From here on frees do not ask, if no address was given out that they would have to ask about.
void stop_asking() noexcept;
/// Frees ask from here on. To be called before such an address is given out.
void start_asking() noexcept;
/// Addresses that a free has to ask about: of sampled allocations, and of those that dlsym itself made.
extern AddressFilter asked_about;

/// Looks the functions up, once. Threads that come meanwhile do not wait: they get memory of ours.
void look_up() noexcept;
/// Those that dlsym may not find, for which it allocates, and those that an allocator calls as it begins: once, when
/// the libraries begin.
void look_up_the_rest() noexcept;
/// Whether `address` is memory that was given out while the functions were looked up. It is never freed.
bool is_early(const void* address) noexcept;
/// realloc of such memory.
void* move_early(void* address, size_t size) noexcept;
/// Whether this code address is in the library that has the next malloc.
bool is_of_allocator(const void* code) noexcept;
/// The function of that name of any library that was loaded out of sight, as a plugin with its C++ library is. Not as
/// the program begins: it runs the constructors of libraries that have not begun.
void* find_out_of_sight(const char* name) noexcept;

}  // namespace flameprobe::alloc
