#include "top_view.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "profile_of.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

NamedProfile profile_of_two_threads() {
    ProfileOf made;
    made.folded("t:a;main;s:[checkout];Cart::total() const 30\nt:a;main;parse\xc3\xa9(int) 50\nt:b;main;wait 20\n");
    NamedProfile profile = std::move(made.profile);
    profile.threads = {{7, "a"}, {8, "b\x1b[2J"}};
    for (NamedCount& count : profile.counts) count.thread = count.weight == 20 ? 1 : 0;
    for (NamedCount& count : profile.counts) count.weight *= 10'000'000;
    profile.has_run = true;
    profile.run.command = "./server";
    profile.run.pid = 4711;
    profile.run.period_ns = 10'000'000;
    return profile;
}

std::string text_of(const std::vector<TopLine>& lines) {
    std::string text;
    for (const TopLine& line : lines) text += line.text + "\n";
    return text;
}

}  // namespace

TEST_CASE("top: threads, scopes and functions are listed, the largest function first") {
    const auto lines = top_view(profile_of_two_threads(), {.columns = 80, .rows = 24, .window = "last 10 s"});
    const std::string text = text_of(lines);
    CHECK(lines.front().kind == LineKind::title);
    CHECK(lines.front().text.find("server (pid 4711)  last 10 s  ") == 0);
    CHECK(lines.front().text.find(" of CPU time, 100 samples") != std::string::npos);
    CHECK(text.find("\n     800 ms    80.0  a (7)\n     200 ms    20.0  b") != text.npos);
    CHECK(text.find("\n     300 ms    30.0  [checkout]\n") != text.npos);
    const auto heading = std::find_if(lines.begin(), lines.end(),
                                      [](const TopLine& line) { return line.text.find("FUNCTION") != line.text.npos; });
    REQUIRE(heading != lines.end());
    CHECK((heading + 1)->text == "     500 ms    50.0       500 ms    50.0  parse\xc3\xa9  libdemo.so.1");
    const auto total = top_view(profile_of_two_threads(), {.columns = 80, .rows = 24, .by_total = true});
    const auto main = std::find_if(total.begin(), total.end(),
                                   [](const TopLine& line) { return line.text.find("  main") != line.text.npos; });
    REQUIRE(main != total.end());
    CHECK((main - 1)->text.find("FUNCTION") != std::string::npos);
}

TEST_CASE("top: where a name does not fit, its end stays") {
    NamedProfile profile = profile_of_two_threads();
    for (Function& function : profile.functions) function.module = profile.strings.intern("/usr/lib/libshop.so.1");
    const auto line = [&](std::size_t columns) {
        const auto lines = top_view(profile, {.columns = columns, .rows = 24, .by_total = true});
        return std::find_if(lines.begin(), lines.end(),
                            [](const TopLine& one) {
                                return one.kind == LineKind::text && one.text.find("total") != one.text.npos;
                            })
            ->text;
    };
    CHECK(line(80).ends_with("  Cart::total  libshop.so.1"));
    CHECK(line(60).ends_with("  Cart::total"));
    CHECK(line(50).ends_with("  …total"));
}

TEST_CASE("top: of a deadlock's threads there is where each waits, whatever event is shown") {
    ProfileOf made;
    const auto stack = [](const std::string& waiter, const std::string& holder) {
        return std::vector<std::string>{"t:" + waiter,
                                        "main",
                                        "take(int)",
                                        "pthread_mutex_lock",
                                        "n:futex",
                                        "n:[held by " + holder + "]",
                                        "main",
                                        "n:futex",
                                        "n:[held by " + waiter + "]",
                                        "n:[deadlock]"};
    };
    made.stack(stack("a", "b"), 50, 0).stack(stack("b", "a"), 50, 1);
    NamedProfile waits = std::move(made.profile);
    waits.threads = {{7, "a"}, {8, "b"}};
    waits.run.event = event_name::offcpu;
    NamedProfile profile = profile_of_two_threads();
    profile.summary.counters
        ["note: deadlock: a (7) waits for the lock at 0x10 that b (8) holds, b (8) waits for the "
         "lock at 0x20 that a (7) holds"] = 1;
    CHECK(text_of(top_view(profile, {.columns = 80, .rows = 24})).find("futex") == std::string::npos);
    profile.others.push_back(std::move(waits));
    const auto lines = top_view(profile, {.columns = 80, .rows = 24});
    REQUIRE(lines.size() > 5);
    CHECK(lines[1].text == "deadlock: a (7) waits for the lock at 0x10 that b (8) holds");
    CHECK(lines[2].text == "          futex < pthread_mutex_lock < take < main");
    CHECK(lines[3].text == "          b (8) waits for the lock at 0x20 that a (7) holds");
    CHECK(lines[4].text == "          futex < pthread_mutex_lock < take < main");
    const auto narrow = top_view(profile, {.columns = 40, .rows = 24});
    CHECK(narrow[2].text == "          futex < pthread_mutex_lock");
    CHECK(narrow[3].text == "           < take < main");
}

TEST_CASE("top: what is shown fits, and no name controls the terminal") {
    for (const std::size_t columns : {1UL, 9UL, 20UL, 80UL}) {
        for (const std::size_t rows : {1UL, 3UL, 24UL}) {
            const auto lines = top_view(profile_of_two_threads(), {.columns = columns, .rows = rows});
            CHECK(lines.size() <= rows);
            for (const TopLine& line : lines) {
                const auto letters = std::count_if(line.text.begin(), line.text.end(), [](char c) {
                    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                });
                CHECK(static_cast<std::size_t>(letters) <= columns);
                CHECK(std::none_of(line.text.begin(), line.text.end(), [](char c) { return c >= 0 && c < ' '; }));
            }
        }
    }
}
