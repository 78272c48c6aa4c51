#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/self_memory.hpp"
#include "flameprobe/scope.hpp"
#include "scope/scanner.hpp"

using namespace flameprobe;

namespace {

std::uint64_t address(const char* text) { return reinterpret_cast<std::uintptr_t>(text); }

}  // namespace

TEST_CASE("equal texts are interned once, from any number of threads") {
    std::vector<std::vector<const char*>> seen(8);
    std::vector<std::thread> threads;
    for (auto& mine : seen) {
        threads.emplace_back([&mine] {
            for (int i = 0; i < 2000; ++i) mine.push_back(FlameProbe::intern("tenant " + std::to_string(i)).text());
        });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& other : seen) CHECK(other == seen.front());
    CHECK(std::set<const char*>(seen.front().begin(), seen.front().end()).size() == 2000);
    CHECK(seen.front()[1999] == std::string("tenant 1999"));
}

TEST_CASE("a long text is cut between characters") {
    const std::string text = std::string(FLAMEPROBE_LABEL_BYTES - 1, 'a') + "\u00e9";
    const char* const kept = FlameProbe::intern(text).text();
    CHECK(std::strlen(kept) == FLAMEPROBE_LABEL_BYTES - 1);
}

TEST_CASE("interning more texts than the limit ends in one label that says so") {
    // In a child: the table is the whole program's and never shrinks.
    const pid_t child = ::fork();
    if (child == 0) {
        std::set<std::string> distinct;
        for (unsigned i = 0; i < FLAMEPROBE_LABEL_LIMIT + 10; ++i) {
            distinct.insert(FlameProbe::intern("request " + std::to_string(i)).text());
        }
        const bool limited = distinct.size() <= FLAMEPROBE_LABEL_LIMIT + 1;
        const bool says_so = distinct.count(FLAMEPROBE_LABEL_FULL) == 1;
        const bool known_stay = FlameProbe::intern("request 0").text() == std::string("request 0");
        ::_exit(limited && says_so && known_stay ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("a label's text is read by address") {
    LabelCache cache(read_self);
    const auto plain = cache.labels(address("checkout"), 1);
    REQUIRE(plain.size() == 1);
    CHECK(plain[0]->text == "checkout");
    // A key ends at the separator that intern(key, value) puts in.
    const auto pair = cache.labels(address("tenant\x1f"
                                           "acme"),
                                   1);
    REQUIRE(pair.size() == 1);
    CHECK(pair[0]->text == "tenant=acme");
    const auto path = cache.labels(address("outer\x1einner"), 1);
    REQUIRE(path.size() == 2);
    CHECK(path[0]->text == "outer");
    CHECK(path[1]->text == "inner");
}

TEST_CASE("equal texts at two addresses are one label, and an empty or unreadable text is none") {
    LabelCache cache(read_self);
    const std::string copies[] = {"same", "same"};
    CHECK(cache.labels(address(copies[0].c_str()), 1)[0] == cache.labels(address(copies[1].c_str()), 1)[0]);
    CHECK(cache.size() == 1);
    CHECK(cache.labels(address(""), 1).empty());
    CHECK(cache.labels(0, 1).empty());
    CHECK(cache.labels(0x10, 1).empty());
}

TEST_CASE("a text that ends where memory ends without a zero is none") {
    LabelCache cache([](std::uint64_t, std::span<std::byte> out) {
        std::memset(out.data(), 'x', 100);
        return std::size_t{100};
    });
    CHECK(cache.labels(4096, 1).empty());
}

TEST_CASE("an address may hold another text once code was mapped anew") {
    char text[] = "first";
    LabelCache cache(read_self);
    CHECK(cache.labels(address(text), 1)[0]->text == "first");
    std::strcpy(text, "other");
    CHECK(cache.labels(address(text), 1)[0]->text == "first");
    CHECK(cache.labels(address(text), 2)[0]->text == "other");
}
