// Part of libflameprobe-core.so only.
#include "session/delay_load.hpp"

#include <dlfcn.h>
#include <libunwind.h>
#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <utility>

#include "base/own_threads.hpp"
#include "cpu/jump_stub.hpp"

// A macro's argument is expanded (to libunwind's name for this CPU) before it is passed on.
#define SLOT(name) constinit void* flameprobe_##name = nullptr;
#define STUB(name)                                                                                                    \
    asm(".pushsection .text\n .balign 16\n .globl " #name "\n .hidden " #name "\n .type " #name ", %function\n" #name \
        ":\n .cfi_startproc\n" FLAMEPROBE_JUMP_THROUGH("flameprobe_" #name) ".cfi_endproc\n .size " #name             \
                                                                            ", . - " #name "\n .popsection");
#define ENTRY(name) {#name, &flameprobe_##name},

#define FUNCTION(name) SLOT(name)
extern "C" {
#include "session/delayed_functions.def"
}
#undef FUNCTION
#define FUNCTION(name) STUB(name)
#include "session/delayed_functions.def"
#undef FUNCTION

namespace flameprobe {
namespace {

struct Stub {
    const char* name;
    void** slot;
};

#define FUNCTION(name) ENTRY(name)
constexpr Stub stubs[] = {
#include "session/delayed_functions.def"
};
#undef FUNCTION

constinit WhileNoThreadForks while_no_thread_forks = nullptr;
constinit bool loaded = false;
// Address space for the libraries: the host may take all that it is left (ulimit -v) before they are loaded.
constinit void* room = nullptr;
constexpr std::size_t room_bytes = 6 << 20;

struct Loading {
    Loading() { libraries_are_loading = true; }
    ~Loading() { libraries_are_loading = false; }
    Loading(const Loading&) = delete;
    Loading& operator=(const Loading&) = delete;
};

struct Opening {
    std::string path;
    void* libraries = nullptr;
    bool complete = false;
};

// Must not throw: the caller is C.
void open_libraries(void* into) noexcept {
    auto& opening = *static_cast<Opening*>(into);
    opening.libraries = ::dlopen(opening.path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    opening.complete = opening.libraries != nullptr;
    for (const auto& stub : stubs)
        if (opening.complete) opening.complete = (*stub.slot = ::dlsym(opening.libraries, stub.name)) != nullptr;
}

/// They are what libflameprobe-libraries.so needs, which lies beside the core.
Result<void> load_once() {
    if (loaded) return {};
    const Loading loading;
    // This, too, waits for the dynamic linker's lock: if a constructor runs under it, forks need not wait meanwhile.
    Dl_info core{};
    if (::dladdr(&loaded, &core) == 0) return Error{"nothing is sampled: the directory of FlameProbe is not known"};
    const std::string path = core.dli_fname;
    Opening opening{path.substr(0, path.rfind('/') + 1) + "libflameprobe-libraries.so"};
    if (room != nullptr) ::munmap(std::exchange(room, nullptr), room_bytes);
    while_no_thread_forks(open_libraries, &opening);
    if (!opening.complete)
        return Error{std::string("nothing is sampled: ") + ::dlerror() +
                     ": is FlameProbe installed as a whole, and do the limits of open files (ulimit -n) and of memory "
                     "(ulimit -v) leave room for its libraries?"};
    note_thread_storage_of(opening.libraries);
    if (!allocate_thread_storage())
        return Error{"nothing is sampled: there is no memory for what libraries keep of a thread"};
    loaded = true;
    return {};
}

}  // namespace

void delay_loading(WhileNoThreadForks guard) {
    while_no_thread_forks = guard;
    void* const place = ::mmap(nullptr, room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place != MAP_FAILED) room = place;
    load_libraries = load_once;
}

}  // namespace flameprobe
