#include <doctest/doctest.h>

#include "profile_of.hpp"
#include "render/call_tree.hpp"
#include "render/describe.hpp"

using namespace flameprobe;
using test::ProfileOf;

namespace {

/// Names and totals of what is not hidden, behind as many spaces as its row has.
std::string shown(const NamedProfile& profile, const CallTree& tree) {
    std::string text;
    for (const Box& box : tree.boxes)
        if (!box.hidden)
            text += std::string(box.row, ' ') + box_label(profile, tree, box) + " " + std::to_string(box.total) + "\n";
    return text;
}

std::vector<Role> others(const NamedProfile& profile) {
    return std::vector<Role>(profile.functions.size(), Role::library);
}

}  // namespace

TEST_CASE("frames that only lead on are one row, but for the last") {
    ProfileOf made;
    made.folded("t:w;lib::a;lib::b;std::c;d;e;f;x 3\nt:w;lib::a;lib::b;std::c;d;e;f;y 5\n");
    const NamedProfile& profile = made.profile;
    auto tree = build_call_tree(profile, {.min_width = 0});
    REQUIRE(tree);
    fold_rows(*tree, profile, others(profile));
    CHECK(shown(profile, *tree) == "all 8\n w 8\n  … 5 frames of lib, std, demo 8\n   f 8\n    x 3\n    y 5\n");
    CHECK(tree->depth == 4);
    CHECK(tree->folded.at(2).size() == 5);
    // All boxes are there, for the reader who asks for them.
    CHECK(tree->boxes.size() == 10);
    CHECK(tree->boxes[7].depth == 7);
}

TEST_CASE("what a lock's holder does is folded like what a thread does") {
    ProfileOf made;
    made.folded("t:w;lock;n:[held by v];a;b;c;d;e;f;x 3\n");
    NamedProfile& profile = made.profile;
    for (Function& function : profile.functions)
        if (const auto name = profile.strings.view(function.name); name.size() == 1 && name != "w")
            function.kind = FrameKind::held;
    auto tree = build_call_tree(profile, {.min_width = 0});
    REQUIRE(tree);
    fold_rows(*tree, profile, function_roles(profile));
    CHECK(shown(profile, *tree).find("[held by v] 3\n    … 6 frames of ") != std::string::npos);
    CHECK(tree->depth == 5);
}

TEST_CASE("five frames, branches and scopes are not folded") {
    for (const char* folded : {"a;b;c;d;e 8\n", "a;b;c;d;e;f 8\na;b;c 1\n", "a;b;c;s:load;d;e;f 8\n"}) {
        ProfileOf made;
        made.folded(folded);
        const NamedProfile& profile = made.profile;
        auto tree = build_call_tree(profile, {.min_width = 0});
        REQUIRE(tree);
        const std::string before = shown(profile, *tree);
        fold_rows(*tree, profile, others(profile));
        CHECK(shown(profile, *tree) == before);
    }
}

TEST_CASE("in others' code a little may leave a chain on the way") {
    ProfileOf made;
    made.folded("std::a;std::b;std::c 3\nstd::a;std::b;std::c;std::d;std::e;std::f;std::g 993\nstd::a;std::b;x 4\n");
    const NamedProfile& profile = made.profile;
    auto tree = build_call_tree(profile, {.min_width = 0});
    REQUIRE(tree);
    const CallTree whole = *tree;
    fold_rows(*tree, profile, function_roles(profile));
    CHECK(shown(profile, *tree) == "all 1000\n … 6 frames of std 1000\n  std::g 993\n  x 4\n");
    tree = whole;
    fold_rows(*tree, profile, std::vector<Role>(profile.functions.size(), Role::own));
    CHECK(shown(profile, *tree) == shown(profile, whole));
}

TEST_CASE("the kernel is one row, named after what nearly all of it leads to") {
    const std::string send = "write;k:entry;k:do_syscall;k:ksys_write;k:tcp_sendmsg;";
    const auto rows = [](const std::string& stacks) {
        ProfileOf made;
        made.folded(stacks);
        auto tree = build_call_tree(made.profile, {.min_width = 0});
        REQUIRE(tree);
        fold_rows(*tree, made.profile, function_roles(made.profile));
        return shown(made.profile, *tree);
    };
    CHECK(rows(send + "k:ip_output;k:net_rx 60\n" + send + "k:copy 30\nwrite;k:entry 10\nwrite 5\n") ==
          "all 105\n write 105\n  … kernel: write 100\n");
    // Its entry and what finds the call say nothing, if half of it is one call.
    const std::string enter = "write;k:entry;k:do_syscall;";
    CHECK(rows(enter + "k:ksys_write;k:a;k:b;k:c 60\n" + enter + "k:exit 40\n").find("… kernel: write 100") !=
          std::string::npos);
    // Not where it has few rows, nor where something else than the kernel stands on it.
    CHECK(rows(send + "k:copy 30\n").find("… kernel") == std::string::npos);
    CHECK(rows(send + "k:ip_output;n:[truncated] 30\n").find("… kernel") == std::string::npos);
}

TEST_CASE("rare frames of own code among others' are in sight, others are folded with them") {
    const auto boxes = [](const std::string& folded) {
        ProfileOf made;
        made.folded(folded);
        auto tree = build_call_tree(made.profile, {.min_width = 0});
        REQUIRE(tree);
        std::vector<Role> roles = others(made.profile);
        for (FunctionId id = 0; id < roles.size(); ++id)
            if (made.profile.strings.view(made.profile.functions[id].name).starts_with("own")) roles[id] = Role::own;
        fold_rows(*tree, made.profile, roles);
        std::string names;
        for (const Box& box : tree->boxes)
            if (!box.hidden) names += box_label(made.profile, *tree, box) + "\n";
        return names;
    };
    const std::string six = "std::a;std::b;std::c;std::d;std::e;std::f;",
                      more = "std::g;std::h;std::i;std::j;std::k;std::l";
    CHECK(boxes(six + "own;" + more + " 8\n") == "all\n… 6 frames of std\nown\n… 5 frames of std\nstd::l\n");
    CHECK(boxes(six + "own1;own2;" + more + " 8\n").starts_with("all\n… 13 frames of std, "));
}

TEST_CASE("narrow towers end where the wide boxes do, and nothing is lost") {
    ProfileOf made;
    made.folded("a;b;c 990\na;b;d;e1;f;g;h 4\na;b;d;e2;f;g 5\na;b;d 1\n");
    const NamedProfile& profile = made.profile;
    auto tree = build_call_tree(profile, {.min_width = 0});
    REQUIRE(tree);
    cut_towers(*tree, 1);
    CHECK(shown(profile, *tree) == "all 1000\n a 1000\n  b 1000\n   c 990\n   d 10\n    7 frames above 9\n");
    CHECK(tree->boxes.back().hits == 9);
    auto whole = build_call_tree(profile, {.min_width = 0});
    cut_towers(*whole, 0.5);  // only two rows would go
    CHECK(whole->depth == 7);
}

TEST_CASE("a folded box above the wide ones is gathered with what is folded into it") {
    ProfileOf made;
    made.folded("a 990\na;t1 1\na;t1;t2 1\na;t1;t2;t3 1\na;t1;t2;t3;b;c;d;e;f;g;h 2\n");
    auto tree = build_call_tree(made.profile, {.min_width = 0});
    REQUIRE(tree);
    fold_rows(*tree, made.profile, others(made.profile));
    CHECK(tree->folded.size() == 1);
    cut_towers(*tree, 1);
    CHECK(shown(made.profile, *tree) == "all 995\n a 995\n  10 frames above 5\n");
    CHECK(tree->boxes.size() == 3);
    CHECK(tree->folded.empty());
}
