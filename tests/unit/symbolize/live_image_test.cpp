// A library that is deleted while it is loaded.
#include "symbolize/live_image.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// Loaded from a copy, which the constructor deletes.
class DeletedLibrary {
public:
    DeletedLibrary() : path_("/tmp/flameprobe-test-" + std::to_string(::getpid()) + ".so") {
        std::filesystem::copy_file(TEST_VARIANTS "/library.so", path_,
                                   std::filesystem::copy_options::overwrite_existing);
        handle_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
        ::unlink(path_.c_str());
    }
    DeletedLibrary(const DeletedLibrary&) = delete;
    ~DeletedLibrary() {
        if (handle_ != nullptr) ::dlclose(handle_);
    }

    std::uint64_t address(const char* name) const { return reinterpret_cast<std::uint64_t>(::dlsym(handle_, name)); }
    Mapping mapping() const {
        const auto file = open_elf(TEST_VARIANTS "/library.so");
        Dl_info info{};
        ::dladdr(::dlsym(handle_, "mark_total"), &info);
        Mapping mapping = mapping_of(*file, reinterpret_cast<std::uint64_t>(info.dli_fbase));
        mapping.path = path_;
        return mapping;
    }

private:
    std::string path_;
    void* handle_ = nullptr;
};

std::vector<Symbol> symbols_of(const Mapping& mapping, std::uint64_t address, const SymbolizeOptions& options) {
    std::vector<std::string> warnings;
    return symbolize({mapping}, {{0, address}}, {}, options, warnings).at(0);
}

}  // namespace

TEST_CASE("code of a deleted library is named from what is mapped") {
    const DeletedLibrary library;
    const std::uint64_t address = library.address("mark_total");
    REQUIRE(address != 0);
    SymbolizeOptions options;
    CHECK(symbols_of(library.mapping(), address, options).at(0).name.starts_with("[unknown in flameprobe-test-"));

    options.read_image = read_live_image;
    CHECK(symbols_of(library.mapping(), address, options).at(0).name == "shop::Basket::total");

    // Without privileges there is only memory, which has the dynamic symbols and the build id.
    options.read_image = [](const Mapping& mapping) { return copy_mapped_parts(mapping.start); };
    const std::vector<Symbol> chain = symbols_of(library.mapping(), address, options);
    CHECK(chain.at(0).name == "shop::Basket::total");
    CHECK(chain.at(0).line == 0);
}

TEST_CASE("a deleted library that was loaded again elsewhere is read where it lies now") {
    const DeletedLibrary library;
    const std::uint64_t address = library.address("mark_total");
    Mapping before = library.mapping();
    const std::uint64_t moved = 0x100000;  // where nothing is mapped
    const std::uint64_t distance = before.start - moved;
    before.start = moved;
    SymbolizeOptions options;
    options.read_image = read_live_image;
    CHECK(symbols_of(before, address - distance, options).at(0).name == "shop::Basket::total");
}

TEST_CASE("the program itself can always be read") {
    Mapping mapping;
    char link[4096];
    const ssize_t size = ::readlink("/proc/self/exe", link, sizeof link);
    REQUIRE(size > 0);
    mapping.path.assign(link, static_cast<std::size_t>(size));
    const auto image = read_live_image(mapping);
    REQUIRE(image.has_value());
    CHECK(image->size() == std::filesystem::file_size(mapping.path));
}

TEST_CASE("there is no image of what is not mapped") {
    Mapping mapping;
    mapping.path = "/nowhere/at/all";
    mapping.start = 0x1000;
    CHECK_FALSE(read_live_image(mapping).has_value());
    CHECK_FALSE(copy_mapped_parts(0).has_value());
    const int local = 0;
    CHECK_FALSE(copy_mapped_parts(reinterpret_cast<std::uint64_t>(&local)).has_value());
}
