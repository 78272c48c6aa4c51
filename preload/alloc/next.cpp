#include "next.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>

#include "capture/handler/raw_system_call.hpp"
#include "interpose.hpp"

namespace flameprobe::alloc {
namespace {

// dlsym may allocate: its memory then comes from here. A thread that allocates while another one looks up, which is
// before there are threads in nearly all programs, gets it too.
constexpr size_t early_bytes = 256 * 1024, alignment = 16;
alignas(4096) constinit char early[early_bytes]{};
constinit std::atomic<size_t> early_used{0};

enum Progress : int { not_begun, begun, done };
constinit std::atomic<int> progress{not_begun};

constinit Segment allocator{};

void* take_early(size_t size, size_t aligned_to) noexcept {
    const size_t need = size + aligned_to + alignment;
    if (need < size || need > early_bytes) return nullptr;
    const size_t at = early_used.fetch_add((need + alignment - 1) & ~(alignment - 1));
    if (at + need > early_bytes) return nullptr;
    const auto start = reinterpret_cast<uintptr_t>(early + at + alignment);
    auto* const given = reinterpret_cast<char*>((start + aligned_to - 1) & ~(aligned_to - 1));
    memcpy(given - sizeof size, &size, sizeof size);
    start_asking();
    asked_about.add(given);
    return given;
}

/// Whether the functions may be called now; else the caller gets memory of ours.
bool looked_up() noexcept {
    look_up();
    return progress.load(std::memory_order_acquire) == done;
}

void* first_malloc(size_t size) { return looked_up() ? next.malloc(size) : take_early(size, alignment); }
void* first_calloc(size_t number, size_t size) {
    if (looked_up()) return next.calloc(number, size);
    size_t bytes = 0;
    return __builtin_mul_overflow(number, size, &bytes) ? nullptr : take_early(bytes, alignment);
}
void* first_realloc(void* old, size_t size) {
    return looked_up() ? next.realloc(old, size) : old == nullptr ? take_early(size, alignment) : nullptr;
}
void* first_reallocarray(void* old, size_t number, size_t size) {
    size_t bytes = 0;
    return __builtin_mul_overflow(number, size, &bytes) ? nullptr : first_realloc(old, bytes);
}
void first_free(void* address) {
    if (looked_up()) next.free(address);
}
int first_posix_memalign(void** address, size_t aligned_to, size_t size) {
    if (looked_up()) return next.posix_memalign(address, aligned_to, size);
    *address = take_early(size, aligned_to);
    return *address == nullptr ? ENOMEM : 0;
}
void* first_aligned_alloc(size_t aligned_to, size_t size) {
    return looked_up() ? next.aligned_alloc(aligned_to, size) : take_early(size, aligned_to);
}
void* first_memalign(size_t aligned_to, size_t size) {
    return looked_up() ? next.memalign(aligned_to, size) : take_early(size, aligned_to);
}
void* first_valloc(size_t size) { return looked_up() ? next.valloc(size) : take_early(size, 4096); }
void* first_pvalloc(size_t size) { return looked_up() ? next.pvalloc(size) : take_early(size, 4096); }
// An allocator that is loaded before this library may be beginning, and dlsym would need it.
void* mapped_at(long address) {
    if (address >= 0 || address <= -4096) return reinterpret_cast<void*>(address);
    errno = static_cast<int>(-address);
    return MAP_FAILED;
}
void* first_mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
    return mapped_at(handler::system_call(SYS_mmap, at, size, protection, flags, file, offset));
}
void* first_mremap(void* old, size_t old_size, size_t size, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* const wanted = va_arg(more, void*);
    va_end(more);
    return mapped_at(handler::system_call(SYS_mremap, old, old_size, size, flags, wanted));
}
int first_munmap(void* at, size_t size) {
    const long result = handler::system_call(SYS_munmap, at, size);
    if (result != 0) errno = static_cast<int>(-result);
    return result == 0 ? 0 : -1;
}

// What an allocator lacks is made of what it has.
void* array_by_realloc(void* old, size_t number, size_t size) {
    size_t bytes = 0;
    if (!__builtin_mul_overflow(number, size, &bytes)) return next.realloc(old, bytes);
    errno = ENOMEM;
    return nullptr;
}
void* memalign_by_posix(size_t aligned_to, size_t size) {
    void* address = nullptr;
    const int error = next.posix_memalign(&address, aligned_to < sizeof(void*) ? sizeof(void*) : aligned_to, size);
    if (error != 0) errno = error;
    return error == 0 ? address : nullptr;
}
void* valloc_by_posix(size_t size) { return memalign_by_posix(4096, size); }
void* pvalloc_by_posix(size_t size) { return memalign_by_posix(4096, (size + 4095) & ~size_t{4095}); }
void free_by_address(void* address, size_t) { next.free(address); }
void free_aligned_by_address(void* address, size_t, size_t) { next.free(address); }

template <class Function>
void find(Function*& found, const char* name, Function* otherwise) noexcept {
    auto* const function = reinterpret_cast<Function*>(look_up_next(name));
    found = function != nullptr ? function : otherwise;
}

void find_all() noexcept {
    Next all = next;
    find(all.malloc, "malloc", static_cast<void* (*)(size_t)>(nullptr));
    find(all.calloc, "calloc", static_cast<void* (*)(size_t, size_t)>(nullptr));
    find(all.realloc, "realloc", static_cast<void* (*)(void*, size_t)>(nullptr));
    find(all.reallocarray, "reallocarray", array_by_realloc);
    find(all.free, "free", static_cast<void (*)(void*)>(nullptr));
    all.free_sized = free_by_address;
    all.free_aligned_sized = free_aligned_by_address;
    find(all.posix_memalign, "posix_memalign", static_cast<int (*)(void**, size_t, size_t)>(nullptr));
    find(all.aligned_alloc, "aligned_alloc", memalign_by_posix);
    find(all.memalign, "memalign", memalign_by_posix);
    find(all.valloc, "valloc", valloc_by_posix);
    find(all.pvalloc, "pvalloc", pvalloc_by_posix);
    allocator = segment_of(reinterpret_cast<void*>(all.malloc));
    next = all;
}

struct LoadedFile {
    size_t number;
    char path[PATH_MAX];
};
int copy_path(dl_phdr_info* info, size_t, void* wanted) {
    auto* const file = static_cast<LoadedFile*>(wanted);
    if (file->number-- != 0) return 0;
    strncpy(file->path, info->dlpi_name, sizeof file->path - 1);
    return 1;
}

/// The function that this file itself has, not one that it needs. The file then stays loaded, since calls go there.
void* defined_in(const char* path, const char* name) noexcept {
    void* const library = *path == '\0' ? nullptr : ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;  // the program, or the kernel's
    void* const function = ::dlsym(library, name);
    Dl_info info;
    void* from = nullptr;
    if (function != nullptr && !is_ours(function) && ::dladdr1(function, &info, &from, RTLD_DL_LINKMAP) != 0 &&
        from == library)
        return function;
    ::dlclose(library);
    return nullptr;
}

}  // namespace

constinit Next next{first_malloc,
                    first_calloc,
                    first_realloc,
                    first_reallocarray,
                    first_free,
                    [](void* address, size_t) { first_free(address); },
                    [](void* address, size_t, size_t) { first_free(address); },
                    first_posix_memalign,
                    first_aligned_alloc,
                    first_memalign,
                    first_valloc,
                    first_pvalloc,
                    first_mmap,
                    first_munmap,
                    first_mremap};
constinit AddressFilter asked_about{};
constinit HostFree* host_free = asking_free;

void start_asking() noexcept { __atomic_store_n(&host_free, &asking_free, __ATOMIC_SEQ_CST); }

// Another thread may still give out early memory: either it sees the allocator's free and sets ours again, or it is
// seen here.
void stop_asking() noexcept {
    if (progress.load(std::memory_order_acquire) != done) return;
    __atomic_store_n(&host_free, next.free, __ATOMIC_SEQ_CST);
    if (early_used.load() != 0) start_asking();
}

void look_up() noexcept {
    int before = not_begun;
    if (!progress.compare_exchange_strong(before, begun, std::memory_order_acquire)) return;
    find_all();
    progress.store(done, std::memory_order_release);
}

void look_up_the_rest() noexcept {
    look_up();
    find(next.free_sized, "free_sized", free_by_address);
    find(next.free_aligned_sized, "free_aligned_sized", free_aligned_by_address);
    find(next.mmap, "mmap", first_mmap);
    find(next.munmap, "munmap", first_munmap);
    find(next.mremap, "mremap", first_mremap);
}

bool is_early(const void* address) noexcept {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(early) < early_bytes;
}

void* move_early(void* address, size_t size) noexcept {
    void* const moved = next.malloc(size);
    size_t before = 0;
    memcpy(&before, static_cast<char*>(address) - sizeof before, sizeof before);
    if (moved != nullptr) memcpy(moved, address, before < size ? before : size);
    return moved;
}

bool is_of_allocator(const void* code) noexcept { return allocator.has(reinterpret_cast<uintptr_t>(code)); }

void* find_out_of_sight(const char* name) noexcept {
    void* found = nullptr;
    LoadedFile file{};
    for (size_t number = 0; found == nullptr; ++number) {
        file.number = number;
        if (::dl_iterate_phdr(copy_path, &file) == 0) break;
        found = defined_in(file.path, name);
    }
    ::dlerror();  // the host's next question is not answered by ours
    return found;
}

}  // namespace flameprobe::alloc
