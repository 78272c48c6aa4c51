#include "compare/correspondence.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "profile_of.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

bool has(const NamedProfile& profile, std::string_view name) {
    return std::ranges::any_of(profile.counts, [&](const NamedCount& count) {
        for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent)
            if (profile.name(profile.nodes[node].frame) == name) return true;
        return false;
    });
}

NamedProfile run_of(std::string_view folded, bool processes = false) {
    ProfileOf made;
    made.folded(folded);
    made.profile.has_run = true;
    made.profile.run.command = "shop";
    made.profile.process_first = processes;
    return std::move(made.profile);
}

}  // namespace

TEST_CASE("processes correspond by what they are for, not by pid") {
    auto before = run_of("t:nginx 12;t:nginx;serve 60\nt:nginx 13;t:nginx;serve 40\n", true),
         after = run_of("t:nginx 712;t:nginx;serve 30\nt:nginx 713;t:nginx;serve 70\n", true);
    const Correspondence found = make_alike(before, after);
    CHECK(found.matched_before == 1);
    CHECK(found.matched_after == 1);
    CHECK(has(before, "nginx"));
    CHECK_FALSE(has(before, "nginx 12"));
}

TEST_CASE("one process corresponds to several of its program") {
    auto before = run_of("t:shop;sell 60\n"),
         after = run_of("t:shop 7;t:shop;sell 30\nt:shop 8;t:shop;sell 30\n", true);
    CHECK(make_alike(before, after).matched_before == 1);
    CHECK(before.process_first);
    CHECK(before.name(before.nodes[1].frame) == "shop");
}

TEST_CASE("a renamed program is known by what it runs") {
    auto before = run_of("t:old 1;t:old;serve;parse 600\nt:old 1;t:old;serve;write 400\nt:sh 2;t:sh;fork 50\n", true),
         after = run_of("t:new 3;t:new;serve;parse 550\nt:new 3;t:new;serve;write 450\nt:awk 4;t:awk;match 50\n", true);
    const Correspondence found = make_alike(before, after);
    CHECK(found.matched_before == doctest::Approx(100.0 / 105));
    CHECK(has(before, "new"));
    CHECK(has(before, "sh"));
    REQUIRE(found.remarks.size() == 2);  // the process and its thread
    CHECK(found.remarks[0] == "process old before is taken for new after: they run the same functions");
}

TEST_CASE("threads of a pool correspond whatever their numbers") {
    auto before = run_of("t:io-1;read 10\nt:io-2;read 10\n"), after = run_of("t:io-12;read 10\n");
    CHECK(make_alike(before, after).matched_before == 1);
    CHECK(has(after, "io-*"));
    auto one = run_of("t:x264;read 10\n"), other = run_of("t:x264;read 10\n");
    make_alike(one, other);
    CHECK(has(one, "x264"));
}

TEST_CASE("functions of another build and compiler correspond") {
    auto before = run_of("t:main;f<int>(int);g.cold 10\nt:main;[libz.so.1.2+0x10] 5\nt:main;h::h0123456789abcdef 5\n"),
         after = run_of("t:main;f<long>(long);g 10\nt:main;[libz.so.1.3+0x99] 5\nt:main;h::hfedcba9876543210 5\n");
    const Correspondence found = make_alike(before, after);
    CHECK(found.matched_before == 1);
    CHECK(found.matched_after == 1);
    CHECK(has(before, "f<long>(long)"));
    CHECK(has(before, "[libz.so]"));
}

TEST_CASE("code without a name keeps its address where both sides ran one build of its file") {
    const auto run = [](std::string_view folded, std::string build_id) {
        NamedProfile made = run_of(folded);
        made.merged_files.push_back({"/usr/sbin/nginx", std::move(build_id)});
        return made;
    };
    auto before = run("t:main;[nginx+0x10] 50\nt:main;[nginx+0x20] 50\n", "one"),
         after = run("t:main;[nginx+0x10] 50\nt:main;[nginx+0x30] 50\n", "one"),
         other = run("t:main;[nginx+0x10] 50\nt:main;[nginx+0x40] 50\n", "two");
    CHECK(make_alike(before, after).matched_before == 0.5);
    for (const char* const name : {"[nginx+0x10]", "[nginx+0x20]"}) CHECK(has(before, name));
    CHECK(has(after, "[nginx+0x30]"));
    CHECK(make_alike(after, other).matched_before == 1);
    CHECK(has(after, "[nginx]"));
    CHECK_FALSE(has(after, "[nginx+0x10]"));
}

TEST_CASE("a template of which both sides have more instances stays apart") {
    auto before = run_of("t:main;f<int>() 100\nt:main;f<long>() 50\n"), after = run_of("t:main;f<int>() 100\n");
    CHECK(make_alike(before, after).matched_before == doctest::Approx(10.0 / 15));
    CHECK(has(before, "f<long>()"));
}

TEST_CASE("folded text of several processes corresponds, and roots of foreign text are left alone") {
    ProfileOf made, other, one, two;
    made.folded("nginx 12;nginx;serve 60\n");
    other.folded("nginx 712;nginx;serve 30\n");
    CHECK(make_alike(made.profile, other.profile).matched_before == 1);
    one.folded("f1;g 6\nf2;g 6\n");
    two.folded("f1;g 3\nf2;g 9\n");
    make_alike(one.profile, two.profile);
    CHECK(has(one.profile, "f1"));
}

TEST_CASE("what so few samples saw that the other side may have none is no difference") {
    auto before = run_of("t:main;work 1000\nt:main;rare 4\n"), after = run_of("t:main;work 1000\nt:main;seldom 4\n");
    CHECK(make_alike(before, after).matched_before == 1);
}

TEST_CASE("a function inlined on one side only is part of its caller, and one that is new is not") {
    auto before = run_of("t:main;run;sort;swap 300\nt:main;run;sort 100\nt:main;run;parse 400\n"),
         after = run_of("t:main;run;sort 410\nt:main;run;parse 390\nt:main;run;parse;copy 200\n");
    const Correspondence found = make_alike(before, after);
    CHECK_FALSE(has(before, "swap"));
    CHECK(has(after, "copy"));
    CHECK(found.matched_before == 1);
    CHECK(found.matched_after == doctest::Approx(0.8));
    REQUIRE(found.remarks.size() == 1);
    CHECK(found.remarks[0] == "inlined on one side only, and part of its caller: 37.50 % of the time before, in swap");
    // What one compiler inlined without a trace has no name at all; what it calls stays.
    auto traced = run_of("t:main;run;a;b;read 300\nt:main;run;a;b 300\nt:main;run 50\n"),
         bare = run_of("t:main;run;read 300\nt:main;run 350\n");
    CHECK(make_alike(traced, bare).matched_before == 1);
    CHECK_FALSE(has(traced, "b"));
    CHECK(has(traced, "read"));
    // Two that are each on one side only have nothing of their caller's.
    auto old = run_of("t:main;run;f 300\nt:main;run 300\n"), now = run_of("t:main;run;g 300\nt:main;run 300\n");
    CHECK(make_alike(old, now).matched_before == 0.5);
}
