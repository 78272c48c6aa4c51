// Memory that runs out while names are looked up: a child process that may have little more than it has already.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <set>

#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool can_limit = false;  // their shadow memory counts
#elif defined(__has_feature)
constexpr bool can_limit = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
constexpr bool can_limit = true;
#endif

std::uint64_t address_space() {
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    REQUIRE(file != nullptr);
    unsigned long pages = 0;
    const int got = std::fscanf(file, "%lu", &pages);
    std::fclose(file);
    REQUIRE(got == 1);
    return std::uint64_t{pages} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

enum Outcome : int { chains = 10, symbols_only = 11, out_of_memory = 12, wrong = 13 };

/// Names many addresses of this very program, which has much debug information, in a child with `room` more memory.
int outcome_with(std::uint64_t room) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit limit{address_space() + room, RLIM_INFINITY};
        if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(wrong);
        int outcome = wrong;
        try {
            const auto file = open_elf("/proc/self/exe");
            std::vector<std::uint64_t> addresses;
            if (file != nullptr)
                for (std::uint64_t at = 0; at < file->find(".text")->size; at += 1024)
                    addresses.push_back(file->find(".text")->address + at);
            SymbolizeOptions options;
            options.workers = 1;
            outcome = symbols_only;
            for (const auto& chain : name_addresses("/proc/self/exe", addresses, options).chains)
                if (chain.empty() || chain[0].name.empty())
                    outcome = wrong;
                else if (outcome != wrong && chain.size() > 1)
                    outcome = chains;
        } catch (const std::bad_alloc&) {
            outcome = out_of_memory;
        }
        ::_exit(outcome);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CAPTURE(room);
    CAPTURE(status);
    REQUIRE(WIFEXITED(status));  // neither libdw's exit(1) nor a signal
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("where memory runs out names come from symbol tables, and the process lives") {
    if (!can_limit) return;
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    std::set<int> seen;
    for (std::uint64_t room = 0; room <= 120 * mib; room += 4 * mib + 4096) {
        const int outcome = outcome_with(room);
        CAPTURE(room);
        CHECK(outcome >= chains);
        CHECK(outcome != wrong);
        seen.insert(outcome);
    }
    CHECK(seen.contains(chains));
    CHECK(seen.contains(symbols_only));
}
