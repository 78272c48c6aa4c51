// Anonymous memory that the host maps itself. What an allocator maps for its own use is not counted: its users' calls
// are.
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
    void* const address = next.mmap(at, size, protection, flags, file, offset);
    if (address == MAP_FAILED || !is_memory(protection, flags, caller)) return address;
    if (count(size)) counted(address, size);
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

// A part that begins elsewhere leaves the allocation alive.
FLAMEPROBE_INTERPOSED int munmap(void* at, size_t size) noexcept {
    if (!asked_about.may_have(at)) return next.munmap(at, size);
    Leaving leaving(at);
    const int failed = next.munmap(at, size);
    failed == 0 ? leaving.is_gone() : leaving.stays();
    return failed;
}
