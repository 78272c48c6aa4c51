#include "own_allocations.hpp"

#include <dlfcn.h>

namespace flameprobe {
namespace {

constinit const alloc::Table* of_library = nullptr;

}  // namespace

void find_alloc_table() noexcept {
    using GetTable = const alloc::Table* (*)();
    const auto get_table = reinterpret_cast<GetTable>(::dlsym(RTLD_DEFAULT, "flameprobe_alloc_table"));
    if (get_table == nullptr) {
        ::dlerror();  // the host's next question is not answered by ours
        return;
    }
    const alloc::Table* const table = get_table();
    if (table->version == alloc::table_version) of_library = table;
}

const alloc::Table* alloc_table() noexcept { return of_library; }

}  // namespace flameprobe
