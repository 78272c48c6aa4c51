#include <dlfcn.h>
#include <doctest/doctest.h>
#include <link.h>

#include <thread>

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

TEST_CASE("allocate_thread_storage() gives a thread its storage of its library") {
    void* const library = ::dlopen(STORAGE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    auto* const allocate = reinterpret_cast<bool (*)()>(::dlsym(library, "allocate_storage"));
    REQUIRE((allocate != nullptr));
    int before = 0, after = 0;
    bool allocated = false;
    std::thread([&] {
        before = missing();
        allocated = allocate();
        after = missing();
    }).join();
    CHECK(allocated);
    CHECK(before > 0);
    CHECK(after == 0);
    ::dlclose(library);
}
