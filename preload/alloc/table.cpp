// What the collector asks of this library.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "counting.hpp"
#include "memory.hpp"

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], etext[];

namespace flameprobe::alloc {
namespace {

enum Reach : int { unknown, elsewhere, here };
constinit int reach = unknown;

bool is_ours(const void* function) noexcept {
    return function >= static_cast<const void*>(__ehdr_start) && function < static_cast<const void*>(etext);
}

/// A program that is not position-independent may have an address of its own for a function of another file (psABI,
/// "Function Addresses").
bool is_stand_in(void* function) noexcept {
    Dl_info info;
    const ElfW(Sym)* symbol = nullptr;
    return ::dladdr1(function, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) !=
               0 &&
           symbol != nullptr && symbol->st_shndx == SHN_UNDEF;
}

/// The first file behind the program that has a malloc: calls find that one. Not libflameprobe.so, which may not have
/// begun: dlopen would run its constructor, which waits for a thread that needs the dynamic linker's lock.
void* first_malloc_of_a_library() noexcept {
    for (const link_map* map = _r_debug.r_map->l_next; map != nullptr; map = map->l_next) {
        if (::strstr(map->l_name, "/libflameprobe.so") != nullptr) continue;
        void* const library = ::dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) continue;                   // the kernel's
        void* const function = ::dlsym(library, "malloc");  // or of a library that this one needs
        ::dlclose(library);
        Dl_info info;
        if (function != nullptr && ::dladdr(function, &info) != 0 &&
            reinterpret_cast<uintptr_t>(info.dli_fbase) == map->l_addr)
            return function;
    }
    return nullptr;
}

bool find_out_what_is_reached() noexcept {
    void* const found = ::dlsym(RTLD_DEFAULT, "malloc");
    const bool ours = is_ours(found != nullptr && is_stand_in(found) ? first_malloc_of_a_library() : found);
    ::dlerror();  // the host's next question is not answered by ours
    return ours;
}

bool reached() noexcept {
    int known = __atomic_load_n(&reach, __ATOMIC_RELAXED);
    if (known == unknown) {
        known = find_out_what_is_reached() ? here : elsewhere;
        __atomic_store_n(&reach, known, __ATOMIC_RELAXED);
    }
    return known == here;
}

// Before the host's constructors, one of which may have the dynamic linker's lock when the collector asks.
__attribute__((constructor(101))) void begin() {
    reached();
    prepare();
}

}  // namespace
}  // namespace flameprobe::alloc

extern "C" __attribute__((visibility("default"))) const flameprobe::alloc::Table* flameprobe_alloc_table() {
    static constinit flameprobe::alloc::Table table{};
    table = {.version = flameprobe::alloc::table_version,
             .state = flameprobe::alloc::state,
             .exempt = flameprobe::alloc::exempt_this_thread,
             .wake_by = flameprobe::alloc::wake_collector_by,
             .go_silent = flameprobe::alloc::go_silent,
             .reached = flameprobe::alloc::reached,
             .code_begin = reinterpret_cast<uintptr_t>(__ehdr_start),
             .code_end = reinterpret_cast<uintptr_t>(etext)};
    return &table;
}
