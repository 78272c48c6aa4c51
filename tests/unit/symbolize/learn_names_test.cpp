#include <doctest/doctest.h>
#include <sys/utsname.h>

#include <ctime>

#include "profile_file.hpp"
#include "symbolize/load.hpp"
#include "symbolize/symbol_cache.hpp"
#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// One sample in `function`, of a process that has the program at `start`.
ProfileFile one_sample(const Mapping& mapping, const char* function, std::uint64_t moved) {
    const std::uint64_t address = addresses_of(cxx_program, "mark_").at(function) + load_bias + moved;
    return ProfileFile([&](ProfileWriter& out) {
        Mapping in_process = mapping;
        in_process.start += moved;
        out.mapping(0, in_process);
        out.thread(0, {1, "main"});
        out.location(0, {0, address});
        out.stack(1, {0, 0});
        out.sample({0, 0, 1, 1});
    });
}

/// One sample at an address of the kernel, in a process of this machine that started then.
ProfileFile in_kernel(std::uint64_t address, std::uint64_t start_unix_ns) {
    utsname system{};
    REQUIRE(::uname(&system) == 0);
    return ProfileFile([&](ProfileWriter& out) {
        RunInfo run;
        run.host = std::string(system.nodename) + ", " + system.sysname + " " + system.release;
        run.start_unix_ns = start_unix_ns;
        out.run(run);
        out.mapping(0, {MappingKind::kernel, 0, 0, 0, 0, "", ""});
        out.thread(0, {1, "main"});
        out.location(0, {0, address});
        out.stack(1, {0, 0});
        out.sample({0, 0, 1, 1});
    });
}

}  // namespace

TEST_CASE("names of several profiles are looked up together, and are the same as of each alone") {
    const auto file = open_elf(cxx_program);
    const Mapping mapping = mapping_of(*file);
    const ProfileFile first = one_sample(mapping, "leaf", 0), second = one_sample(mapping, "leaf", 0x40000);
    const ProfileFile none([](ProfileWriter&) {});

    SymbolCache cache;
    std::size_t addresses = 0;
    SymbolizeOptions options;
    options.progress = [&](std::size_t, std::size_t all) { addresses = all; };
    CHECK(learn_names({first.path(), "/nonexistent/x.fprobe", none.path(), second.path()}, options, cache).empty());
    CHECK(addresses == 1);  // one address of the file, wherever it was mapped

    for (const ProfileFile* profile : {&first, &second}) {
        auto source = ByteSource::open(profile->path());
        REQUIRE(source);
        options.most_debug_bytes_in_all = 0;  // so names from it can only come from the cache
        options.progress = [](std::size_t, std::size_t) { FAIL("an address is looked up again"); };
        const auto learnt = load_profile(*source, {}, options, &cache), alone = load_profile(profile->path(), {}, {});
        REQUIRE(learnt);
        REQUIRE(alone);
        CHECK(as_text(*learnt) == as_text(*alone));
        CHECK(as_text(*learnt).find("shop::leaf") != std::string::npos);
    }
}

TEST_CASE("the kernel's names are learnt for profiles of this boot only") {
    const std::uint64_t address = kernel_function("schedule");
    if (address == 0) {
        MESSAGE("this user may not see kernel addresses");
        return;
    }
    const auto now = static_cast<std::uint64_t>(std::time(nullptr)) * 1'000'000'000;
    const ProfileFile first = in_kernel(address, now), second = in_kernel(address + 1, now),
                      old = in_kernel(address, 1);
    const Mapping kernel{MappingKind::kernel, 0, 0, 0, 0, "", ""};
    SymbolizeOptions options;
    options.same_boot = true;
    SymbolCache of_both, of_old;
    CHECK(learn_names({first.path(), second.path()}, {}, of_both).empty());
    for (const std::uint64_t at : {address, address + 1}) {
        const auto found = of_both.find(kernel, at, options);
        REQUIRE(found);
        CHECK(found->front().name == "schedule");
    }
    CHECK(learn_names({old.path()}, {}, of_old).empty());
    CHECK_FALSE(of_old.find(kernel, address, options));
}

TEST_CASE("a file that cannot be read gives one warning for all profiles") {
    const auto file = open_elf(cxx_program);
    Mapping mapping = mapping_of(*file);
    mapping.path = "/nonexistent/program";
    const ProfileFile first = one_sample(mapping, "leaf", 0), second = one_sample(mapping, "leaf", 0x40000);
    SymbolCache cache;
    const auto warnings = learn_names({first.path(), second.path()}, {}, cache);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("/nonexistent/program") != std::string::npos);
}
