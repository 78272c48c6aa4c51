// Names of code in files that readers of the profile will not find.
#include "collect/raw_names.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "base/descriptor.hpp"
#include "base/proc_maps.hpp"
#include "collect/kept_files.hpp"

using namespace flameprobe;

namespace {

/// Where an address of this process lies in its file, and which that is.
struct Place {
    std::uint64_t offset = 0;
    std::string path;
};

Place place_of(std::uint64_t address) {
    const auto maps = read_proc_maps();
    for (const MapsLine& line : maps->lines)
        if (line.start <= address && address < line.end)
            return {address - line.start + line.offset, std::string(line.path)};
    return {};
}

/// libc's own: AddressSanitizer has functions of some of these names in the program.
void* in_libc(const char* name) {
    static void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return ::dlsym(libc, name);
}
std::uint64_t address_of(const char* name) { return reinterpret_cast<std::uint64_t>(in_libc(name)); }

ReadFile reader_of(const std::string& bytes) {
    return [&bytes](std::uint64_t at, std::span<std::byte> out) -> std::size_t {
        if (at >= bytes.size()) return 0;
        const std::size_t size = std::min(out.size(), bytes.size() - at);
        std::memcpy(out.data(), bytes.data() + at, size);
        return size;
    };
}

std::string contents_of(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string bytes(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
    bytes.resize(read_at(file.get(), 0, std::as_writable_bytes(std::span(bytes))));
    return bytes;
}

[[gnu::noinline]] int a_function_of_this_program(int number) { return number * 3 + 1; }

}  // namespace

TEST_CASE("a function of the program is found by .symtab, as it stands there") {
    const auto start = reinterpret_cast<std::uint64_t>(&a_function_of_this_program);
    const Place place = place_of(start + 1);
    const std::string bytes = contents_of(place.path);
    const auto names = raw_names(reader_of(bytes), place.path, {place.offset, place.offset - 1, place.offset});
    REQUIRE(names.size() == 3);
    CHECK(names[0].starts_with("_Z"));
    CHECK(names[0].find("a_function_of_this_program") != std::string::npos);
    CHECK(names[1] == names[0]);
    CHECK(names[2] == names[0]);
}

TEST_CASE("functions of a library are found by what is mapped of it alone") {
    const char* const functions[] = {"qsort", "getenv", "strtoull", "fopen"};
    const Place libc = place_of(address_of("qsort"));
    const auto image = copy_mapped_parts(address_of("qsort"), libc.path);
    REQUIRE(image.has_value());
    std::vector<std::uint64_t> offsets;
    for (const char* name : functions) offsets.push_back(place_of(address_of(name)).offset + 2);
    const ReadFile read = [&](std::uint64_t at, std::span<std::byte> out) { return image->read(at, out); };
    const auto names = raw_names(read, libc.path, offsets);
    for (std::size_t i = 0; i < names.size(); ++i) {
        Dl_info at{}, named{};  // an alias may have the same place
        REQUIRE(::dladdr(reinterpret_cast<void*>(address_of(functions[i])), &at) != 0);
        REQUIRE_MESSAGE(in_libc(names[i].c_str()) != nullptr, names[i]);
        ::dladdr(in_libc(names[i].c_str()), &named);
        CHECK(named.dli_saddr == at.dli_saddr);
    }
}

TEST_CASE("a function that only unwind tables know is called by its start") {
    const Place libc = place_of(address_of("qsort"));
    std::string bytes = contents_of(libc.path);
    // Without its table of sections, and with PT_DYNAMIC gone.
    Elf64_Ehdr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    header.e_shoff = 0;
    std::memcpy(bytes.data(), &header, sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part{};
        char* const at = bytes.data() + header.e_phoff + i * sizeof part;
        std::memcpy(&part, at, sizeof part);
        if (part.p_type == PT_DYNAMIC) part.p_type = PT_NULL;
        std::memcpy(at, &part, sizeof part);
    }
    const auto names = raw_names(reader_of(bytes), "/lib/libsome.so.6", {libc.offset + 2});
    CHECK(names.at(0).starts_with("[libsome.so.6+0x"));
}

TEST_CASE("there is no name for what is in no code, and none is invented from rubbish") {
    const std::string nothing;
    CHECK(raw_names(reader_of(nothing), "x", {0, 1, ~std::uint64_t{0}}) == std::vector<std::string>(3));
    const auto start = reinterpret_cast<std::uint64_t>(&a_function_of_this_program);
    const Place place = place_of(start + 1);
    const std::string whole = contents_of(place.path);
    std::mt19937_64 random(1);
    for (int i = 0; i < 300; ++i) {
        std::string bytes = whole.substr(0, 1 + random() % whole.size());
        for (int flips = 0; flips < 20; ++flips) bytes[random() % std::min<std::size_t>(bytes.size(), 1024)] ^= 0x55;
        CHECK(raw_names(reader_of(bytes), place.path, {place.offset, 0, ~std::uint64_t{0}}).size() == 3);
    }
}

TEST_CASE("there is no image of what is not mapped") {
    CHECK_FALSE(copy_mapped_parts(0x1000, "/nowhere/at/all").has_value());
    const Place libc = place_of(address_of("qsort"));
    CHECK_FALSE(copy_mapped_parts(address_of("qsort"), "/another/file").has_value());
}
