#include <dlfcn.h>
#include <doctest/doctest.h>
#include <link.h>

#include <thread>

#include "base/own_threads.hpp"

using namespace flameprobe;

namespace {

int count_missing(dl_phdr_info* info, std::size_t, void* count) {
    if (info->dlpi_tls_modid != 0 && info->dlpi_tls_data == nullptr) ++*static_cast<int*>(count);
    return 0;
}

int missing() {
    int count = 0;
    ::dl_iterate_phdr(count_missing, &count);
    return count;
}

}  // namespace

TEST_CASE("allocate_thread_storage() gives a thread its storage of the libraries that were noted") {
    void* const library = ::dlopen(STORAGE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    void* const symbol = ::dlsym(library, "touch_storage");
    REQUIRE(symbol != nullptr);
    note_thread_storage(symbol);
    int before = 0, after = 0;
    bool allocated = false;
    std::thread([&] {
        before = missing();
        allocated = allocate_thread_storage();
        after = missing();
    }).join();
    CHECK(allocated);
    CHECK(before > 0);
    CHECK(after == 0);
    ::dlclose(library);
}
