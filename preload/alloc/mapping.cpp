// Anonymous memory that the host maps itself. What an allocator maps for its own use is not counted: its users' calls
// are.
#include <stdarg.h>
#include <sys/mman.h>

#include "counting.hpp"
#include "interpose.hpp"

using namespace flameprobe::alloc;

namespace flameprobe::alloc {
namespace {

/// Memory without any permission is reserved, not used.
bool is_memory(int protection, int flags, const void* caller) noexcept {
    return (flags & MAP_ANONYMOUS) != 0 && protection != PROT_NONE && !is_of_allocator(caller);
}

void* map(void* at, size_t size, int protection, int flags, int file, off_t offset, const void* caller) {
    Unmapping over(at, (flags & MAP_FIXED) != 0 ? size : 0);
    void* const address = next.mmap(at, size, protection, flags, file, offset);
    if (address == MAP_FAILED) return address;
    over.is_done();
    if (is_memory(protection, flags, caller) && count(size)) counted(address, size, Kind::mapping);
    return address;
}

}  // namespace
}  // namespace flameprobe::alloc

// With asm names, since a macro of the C library's may have mmap mean mmap64.
extern "C" {
__attribute__((visibility("default"))) void* flameprobe_mmap(void* at, size_t size, int protection, int flags, int file,
                                                             off_t offset) noexcept __asm__("mmap");
__attribute__((visibility("default"))) void* flameprobe_mmap64(void* at, size_t size, int protection, int flags,
                                                               int file, off_t offset) noexcept __asm__("mmap64");

void* flameprobe_mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) noexcept {
    return map(at, size, protection, flags, file, offset, __builtin_return_address(0));
}

void* flameprobe_mmap64(void* at, size_t size, int protection, int flags, int file, off_t offset) noexcept {
    return map(at, size, protection, flags, file, offset, __builtin_return_address(0));
}
}

FLAMEPROBE_INTERPOSED int munmap(void* at, size_t size) noexcept {
    Unmapping unmapping(at, size);
    const int failed = next.munmap(at, size);
    if (failed == 0) unmapping.is_done();
    return failed;
}

// It does not say what kind of memory it moves, so what is added does not count.
FLAMEPROBE_INTERPOSED void* mremap(void* old, size_t old_size, size_t size, int flags, ...) noexcept {
    va_list more;
    va_start(more, flags);
    void* const wanted = (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0 ? va_arg(more, void*) : nullptr;
    va_end(more);
    Unmapping over(wanted, (flags & MREMAP_FIXED) != 0 ? size : 0);
    const size_t kept = whole_pages(size);
    Unmapping rest(static_cast<char*>(old) + kept, old_size > kept ? old_size - kept : 0);
    Unmapping moving(old, old_size < kept ? old_size : kept);
    void* const address = next.mremap(old, old_size, size, flags, wanted);
    if (address == MAP_FAILED) return address;
    over.is_done();
    rest.is_done();
    if (address != old) moving.is_done(address);
    return address;
}
