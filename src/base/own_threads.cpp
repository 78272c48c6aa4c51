#include "base/own_threads.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

/// What the ABI hands to __tls_get_addr (ELF Handling For Thread-Local Storage, section 3.4).
struct TlsIndex {
    unsigned long module, offset;
};

// Six libraries have such storage: room for many more. No vector, which a static destructor would take from running
// threads.
constinit std::array<unsigned long, 64> modules{};
constinit std::size_t module_count = 0;
constinit std::atomic<std::uintptr_t> in_own_heap{0};

struct Visited {
    std::vector<const link_map*> maps;

    bool add(const link_map* map) {
        if (std::find(maps.begin(), maps.end(), map) != maps.end()) return false;
        maps.push_back(map);
        return true;
    }
};

const char* strings_of(const link_map& map) {
    for (const auto* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_STRTAB) return reinterpret_cast<const char*>(entry->d_un.d_ptr);
    return nullptr;
}

void note(void* handle, Visited& visited) {
    link_map* map = nullptr;
    std::size_t module = 0;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !visited.add(map)) return;
    const bool has_storage = ::dlinfo(handle, RTLD_DI_TLS_MODID, &module) == 0 && module != 0;
    const auto noted = modules.begin() + module_count;
    if (has_storage && module_count < modules.size() && std::find(modules.begin(), noted, module) == noted)
        modules[module_count++] = module;
    const char* const strings = strings_of(*map);
    for (const auto* entry = map->l_ld; strings != nullptr && entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag != DT_NEEDED) continue;
        if (void* const needed = ::dlopen(strings + entry->d_un.d_val, RTLD_LAZY | RTLD_NOLOAD)) {
            note(needed, visited);
            ::dlclose(needed);
        }
    }
}

/// A thread's first block of a size begins 16 bytes after a page. The sanitizers of GCC before 14 and LLVM before 17
/// take such storage for glibc 2.19's with a header. LeakSanitizer reads where that seems to lead, and the host ends
/// with status 1 (google/sanitizers#1409). Holds these blocks while the storage is allocated.
class FirstBlocks {
public:
    FirstBlocks() {
        for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i] = std::malloc(16 * i + 8);
    }
    ~FirstBlocks() {
        for (void* block : blocks_) std::free(block);
    }
    FirstBlocks(const FirstBlocks&) = delete;
    FirstBlocks& operator=(const FirstBlocks&) = delete;

private:
    std::array<void* volatile, 16> blocks_;  // volatile: a compiler may leave out malloc and free
};

}  // namespace

extern "C" void* __tls_get_addr(TlsIndex*);

namespace flameprobe {

void note_thread_storage(const void* address) {
    Dl_info info{};
    if (::dladdr(address, &info) == 0) return;
    if (void* const own = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
        Visited visited;
        note(own, visited);
        ::dlclose(own);
    }
}

bool allocate_thread_storage() {
    // More than all of it: __tls_get_addr allocates by malloc, too, and cannot fail. A thread for which libc could map
    // no arena gets nothing even where others do.
    constexpr std::size_t enough = std::size_t{64} << 10;
    void* const volatile memory = std::malloc(enough);  // volatile: a compiler may leave out malloc and free
    if (memory == nullptr) return false;
    in_own_heap = reinterpret_cast<std::uintptr_t>(memory);
    std::free(memory);
    const FirstBlocks first_blocks;
    for (std::size_t i = 0; i < module_count; ++i) {
        TlsIndex index{modules[i], 0};
        __tls_get_addr(&index);
    }
    return true;
}

std::uintptr_t own_heap() { return in_own_heap; }

}  // namespace flameprobe
