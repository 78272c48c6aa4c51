#include <doctest/doctest.h>

#include <utility>

#include "compare/correspondence.hpp"
#include "profile_of.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

using Leads = std::vector<std::string>;

Leads leads_of(std::string_view before, std::string_view after) {
    ProfileOf one, other;
    one.folded(before), other.folded(after);
    one.profile.has_run = other.profile.has_run = true;
    return make_alike(one.profile, other.profile).leads;
}

}  // namespace

TEST_CASE("a function with other name, but the same callers and callees, may be renamed") {
    CHECK(leads_of("t:a;main;parse;read 200\nt:a;main;parse;scan 300\nt:a;main 500\n",
                   "t:a;main;parse_all;read 180\nt:a;main;parse_all;scan 320\nt:a;main 500\n") ==
          Leads{"parse_all may be parse renamed: same callers and callees"});
    // Of another crate, and its callers, too.
    CHECK(leads_of("t:a;orders::run;orders::Order::clone 500\nt:a;orders::run;write 500\n",
                   "t:a;basket::run;basket::Order::clone 450\nt:a;basket::run;write 550\n") ==
          Leads{"basket::run may be orders::run renamed: same callers and callees",
                "basket::Order::clone may be orders::Order::clone renamed: same callers and callees"});
}

TEST_CASE("what is compared of a renamed function is its change") {
    ProfileOf before, after;
    before.folded("t:a;main;parse;read 200\nt:a;main;parse;scan 300\nt:a;main 500\n");
    after.folded("t:a;main;scan_all;read 200\nt:a;main;scan_all;scan 300\nt:a;main 500\n");
    before.profile.has_run = after.profile.has_run = true;
    CHECK(make_alike(before.profile, after.profile).matched_before == 1);
}

TEST_CASE("what replaced another function is new, and that one gone") {
    // Only the caller is the same.
    CHECK(leads_of("t:a;main;bubble 500\nt:a;main 500\n", "t:a;main;quick 450\nt:a;main 550\n").empty());
    CHECK(leads_of("t:a;main;bubble;swap 500\nt:a;main 500\n", "t:a;main;quick;split 450\nt:a;main 550\n").empty());
    // Another caller, other callees, or far less of the time.
    CHECK(leads_of("t:a;one;parse;read 500\nt:a;other 500\n", "t:a;other;parse_all;read 500\nt:a;one 500\n").empty());
    CHECK(leads_of("t:a;main;parse;read 500\nt:a;main;wait 500\n", "t:a;main;load;wait 500\nt:a;main;read 500\n")
              .empty());
    CHECK(
        leads_of("t:a;main;parse;read 500\nt:a;main;read 500\n", "t:a;main;load;read 50\nt:a;main;read 950\n").empty());
    // Both are there.
    CHECK(leads_of("t:a;main;parse;read 500\nt:a;main 500\n", "t:a;main;parse;read 500\nt:a;main;load;read 500\n")
              .empty());
}

TEST_CASE("of several that may be renamed each is taken once") {
    const Leads leads = leads_of("t:a;main;a1;read 300\nt:a;main;a2;read 100\nt:a;main 600\n",
                                 "t:a;main;b1;read 290\nt:a;main;b2;read 110\nt:a;main 600\n");
    CHECK(leads ==
          Leads{"b1 may be a1 renamed: same callers and callees", "b2 may be a2 renamed: same callers and callees"});
}
