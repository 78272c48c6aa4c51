#include "cut_away.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "profile_of.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

std::map<std::string, std::uint64_t> cut(const CutOptions& options) {
    ProfileOf made;
    made.folded(
        "t:worker-1;main;shop::Cart<int>::total(int);i:std::less<int>::operator();k:sys 5\n"
        "t:worker-2;main;shop::Cart<int>::total(int) 2\n"
        "t:worker-3;main;idle 3\nt:worker-4;idle 1\nt:worker-5;idle 1\nn:[lost] 4\n");
    NamedProfile& profile = made.profile;
    profile.has_run = true;
    REQUIRE(cut_away(profile, options));
    std::map<std::string, std::uint64_t> stacks;
    for (const NamedCount& count : profile.counts) {
        std::string stack;
        for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent)
            stack = std::string(profile.name(profile.nodes[node].frame)) + (stack.empty() ? "" : ";") + stack;
        stacks[stack] += count.weight;
    }
    return stacks;
}

using Stacks = std::map<std::string, std::uint64_t>;

}  // namespace

TEST_CASE("focus keeps the stacks with a match, ignore drops them; whole and short names count") {
    const Stacks cart{{"worker-1;main;shop::Cart<int>::total(int);std::less<int>::operator();sys", 5},
                      {"worker-2;main;shop::Cart<int>::total(int)", 2}};
    CHECK(cut({.focus = "^shop::Cart::total$"}) == cart);
    CHECK(cut({.focus = "Cart<int>"}) == cart);
    CHECK(cut({.focus = "nothing"}).empty());
    CHECK(cut({.ignore = "main|lost"}) == Stacks{{"worker-4;idle", 1}, {"worker-5;idle", 1}});
}

TEST_CASE("samples of a hidden function count for its caller, and none is lost") {
    const Stacks hidden = cut({.hide = "main|total|less|idle"});
    CHECK(
        hidden ==
        Stacks{{"worker-1;sys", 5}, {"worker-2", 2}, {"worker-3", 3}, {"worker-4", 1}, {"worker-5", 1}, {"[lost]", 4}});
    CHECK(cut({.hide = "_\\[k]$", .inlined = false}) == cut({.hide = "^(sys|std::less.*)$"}));
    CHECK(cut({.inlined = false}).count("worker-1;main;shop::Cart<int>::total(int);sys") == 1);
    CHECK(cut({.hide = "."}) ==
          Stacks{{"worker-1", 5}, {"worker-2", 2}, {"worker-3", 3}, {"worker-4", 1}, {"worker-5", 1}, {"[hidden]", 4}});
}

TEST_CASE("of a run of others' frames the first stays, and has its time") {
    const Stacks own = cut({.focus = "less", .own_code = true});
    CHECK(own == Stacks{{"worker-1;main;shop::Cart<int>::total(int)", 5}});  // which is in a library here
    const auto of = [](const std::string& folded, const CutOptions& options) {
        ProfileOf made;
        made.folded(folded);
        REQUIRE(cut_away(made.profile, options));
        std::string stack;
        for (NodeId node = made.profile.counts[0].node; node != 0; node = made.profile.nodes[node].parent)
            stack = std::string(made.profile.name(made.profile.nodes[node].frame)) + (stack.empty() ? "" : ";") + stack;
        return stack;
    };
    const std::string stack = "t:w;_start;start_thread;main;std::sort;std::swap;mine;mine;std::__invoke;std::move 1\n";
    CHECK(of(stack, {.own_code = true}) == "w;main;std::sort;mine;mine");
    CHECK(of(stack, {.fold_glue = true}) == "w;main;std::sort;std::swap;mine;std::move");
}

TEST_CASE("names are shortened and like threads merged on request") {
    CHECK(cut({.focus = "Cart", .merge_threads = true, .short_names = true}) ==
          Stacks{{"worker-*;main;shop::Cart::total;std::less::operator();sys", 5},
                 {"worker-*;main;shop::Cart::total", 2}});
}

TEST_CASE("the times of the stacks that are left are kept") {
    ProfileOf made;
    made.folded("a 1\nb 2\nc 3\n");
    made.profile.bin_ns = 1000;
    made.profile.times = {{0, 0, 1, 1}, {1, 4, 2, 1}, {2, 5, 3, 3}};
    REQUIRE(cut_away(made.profile, {.ignore = "b"}));
    REQUIRE(made.profile.times.size() == 2);
    CHECK(made.profile.times[1].count == 1);
    CHECK(made.profile.times[1].bin == 5);
}

TEST_CASE("what is no regular expression is refused with the reason") {
    const auto bad = check_expression("a(");
    REQUIRE(!bad);
    CHECK(bad.error().message.find("'a(' is no regular expression: ") == 0);
    CHECK(check_expression("^a|b$"));
}
