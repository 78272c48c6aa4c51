#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "profile_of.hpp"
#include "render/call_tree.hpp"
#include "render/describe.hpp"
#include "render/run_facts.hpp"

using namespace flameprobe;
using test::ProfileOf;

namespace {

/// "name[start+total self]" for each box, indented by depth.
std::string text_of(const NamedProfile& profile, const CallTree& tree) {
    std::string out;
    for (const Box& box : tree.boxes) {
        out += std::string(box.depth, ' ') + box_name(profile, tree, box) + " " + std::to_string(box.start) + "+" +
               std::to_string(box.total) + " " + std::to_string(box.self) + "\n";
    }
    return out;
}

CallTree tree_of(const NamedProfile& profile, CallTreeOptions options = {}) {
    auto tree = build_call_tree(profile, options);
    REQUIRE(tree);
    return std::move(*tree);
}

}  // namespace

TEST_CASE("children stand in the order of their names, each once") {
    // As whole lines sorted as text these would draw "a" twice: "a.cold" and "a b" sort between "a" and "a;b".
    ProfileOf made;
    made.folded("a 10\na.cold 10\na;b 10\na b 1\n");
    CHECK(text_of(made.profile, tree_of(made.profile)) ==
          "all 0+31 0\n"
          " a 0+20 10\n"
          "  b 0+10 10\n"
          " a b 20+1 1\n"
          " a.cold 21+10 10\n");
}

TEST_CASE("a process whose threads all have its name is one row, in both directions no other is lost") {
    ProfileOf made;
    made.folded("t:postgres: walwriter 7;t:postgres;main;wait 5\nt:server 8;t:server;main 2\nt:server 8;t:io;main 1\n");
    made.profile.process_first = true;
    CHECK(text_of(made.profile, tree_of(made.profile)) ==
          "all 0+8 0\n"
          " postgres: walwriter 7 0+5 0\n"
          "  main 0+5 0\n"
          "   wait 0+5 5\n"
          " server 8 5+3 0\n"
          "  io 5+1 0\n"
          "   main 5+1 1\n"
          "  server 6+2 0\n"
          "   main 6+2 2\n");
    CHECK(tree_of(made.profile, {.reverse = true}).boxes.size() == 10);
    made.profile.process_first = false;
    CHECK(tree_of(made.profile).boxes.size() == 10);
}

TEST_CASE("lines and threads of one function are one box") {
    ProfileOf made;
    made.stack({"main@3", "f@10"}, 5, 0).stack({"main@4", "f@10"}, 6, 1).stack({"main@4", "f@11", "g"}, 7, 1);
    CHECK(text_of(made.profile, tree_of(made.profile)) == "all 0+18 0\n main 0+18 0\n  f 0+18 11\n   g 0+7 7\n");
}

TEST_CASE("a function and its inlined or kernel namesake stay apart") {
    ProfileOf made;
    made.folded("main;f 1\nmain;i:f 2\nmain;k:f 3\n");
    CHECK(tree_of(made.profile).boxes.size() == 5);
}

TEST_CASE("nameless code that calls nameless code is one box, in both directions") {
    ProfileOf made;
    made.folded("main;[JIT code];[JIT code];[JIT code];read 2\nmain;[JIT code];[JIT code] 3\nmain;[JIT code];read 4\n")
        .folded("main;[unknown in a.so];[unknown in a.so];[unknown in b.so] 5\n")
        .folded("main;again;again 6\nmain;[a.so+0x10];[a.so+0x10] 7\n");
    const std::string both =
        " main 0+27 0\n"
        "  [JIT code] 0+9 3\n"
        "   read 0+6 6\n"
        "  [a.so+0x10] 9+7 0\n"
        "   [a.so+0x10] 9+7 7\n"
        "  [unknown in a.so] 16+5 0\n"
        "   [unknown in b.so] 16+5 5\n"
        "  again 21+6 0\n"
        "   again 21+6 6\n";
    CHECK(text_of(made.profile, tree_of(made.profile)) == "all 0+27 0\n" + both);
    ProfileOf jit;
    jit.folded("main;[JIT code];[JIT code] 3\nmain;[JIT code];[JIT code];read 2\n");
    CHECK(text_of(jit.profile, tree_of(jit.profile, {.reverse = true})) ==
          "all 0+5 0\n"
          " [JIT code] 0+3 0\n"
          "  main 0+3 3\n"
          " read 3+2 0\n"
          "  [JIT code] 3+2 0\n"
          "   main 3+2 2\n");
}

TEST_CASE("narrow siblings are gathered in one box with their weight and number") {
    ProfileOf made;
    made.folded("main;big 900\nmain;x;deep 40\nmain;y 30\nmain;z 30\n");
    CHECK(text_of(made.profile, tree_of(made.profile, {.min_width = 5})) ==
          "all 0+1000 0\n main 0+1000 0\n  big 0+900 900\n  3 frames 900+100 0\n");
}

TEST_CASE("a reversed tree merges stacks from their leaves") {
    ProfileOf made;
    made.folded("main;a;hot 10\nmain;b;hot 20\nmain;b 5\n");
    CHECK(text_of(made.profile, tree_of(made.profile, {.reverse = true})) ==
          "all 0+35 0\n"
          " b 0+5 0\n  main 0+5 5\n"
          " hot 5+30 0\n  a 5+10 0\n   main 5+10 10\n  b 15+20 0\n   main 15+20 20\n");
}

TEST_CASE("nothing to draw is an error, and so are counts beyond 64 bits") {
    NamedProfile empty;
    CHECK(!build_call_tree(empty, {}));
    auto zeros = ProfileOf();
    for (int i = 0; i < 1000; ++i) zeros.stack({"main", "f" + std::to_string(i)}, 0);
    CHECK(!build_call_tree(zeros.profile, {}));
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    CHECK(build_call_tree(ProfileOf().stack({"a"}, half).stack({"b"}, half - 1).profile, {}));
    CHECK(!build_call_tree(ProfileOf().stack({"a"}, half).stack({"b"}, half).profile, {}));
}

TEST_CASE("every box lies within its parent and siblings do not overlap") {
    ProfileOf made;
    std::uint32_t seed = 12345;
    const auto random = [&](std::uint32_t limit) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 16) % limit;
    };
    for (int i = 0; i < 3000; ++i) {
        std::vector<std::string> frames;
        for (std::uint32_t depth = random(12) + 1; depth > 0; --depth)
            frames.push_back("f" + std::to_string(random(9)) + "@" + std::to_string(random(3)));
        made.stack(frames, random(50));
    }
    for (const bool reverse : {false, true}) {
        for (const double width : {0.0, 0.1, 1.0}) {
            const CallTree tree = tree_of(made.profile, {.reverse = reverse, .min_width = width});
            std::vector<std::uint64_t> filled(tree.boxes.size());
            for (std::uint32_t at = 1; at < tree.boxes.size(); ++at) {
                const Box& box = tree.boxes[at];
                const Box& parent = tree.boxes[box.parent];
                REQUIRE(box.parent < at);
                REQUIRE(box.depth == parent.depth + 1);
                REQUIRE(box.start == parent.start + filled[box.parent]);
                filled[box.parent] += box.total;
            }
            for (std::uint32_t at = 0; at < tree.boxes.size(); ++at) {
                if (tree.boxes[at].kind != BoxKind::gathered)
                    REQUIRE(filled[at] + tree.boxes[at].self == tree.boxes[at].total);
            }
            std::uint64_t self = 0;
            for (const Box& box : tree.boxes) self += box.kind == BoxKind::gathered ? box.total : box.self;
            CHECK(self == tree.boxes[0].total);
        }
    }
}

TEST_CASE("bytes and events are told with their units, before the samples that stand for them") {
    ProfileOf made;
    made.folded("a;b 1048576\na 1536\n");
    made.profile.counts[0].hits = 2;
    made.profile.has_run = true;
    const auto told = [&](const char* event) {
        made.profile.run.event = event;
        const CallTree tree = tree_of(made.profile, {});
        return box_tooltip(made.profile, tree, tree.boxes[1], {}).substr(2) + "; " + default_subtitle(made.profile);
    };
    made.profile.run.event_kind = "software event";
    CHECK(told("alloc").find("1 MiB (100.00 %), self 1.5 KiB (0.15 %), 1,538 samples") == 0);
    CHECK(told("alloc").find("; 1 MiB allocated, 1,538 samples") != std::string::npos);
    CHECK(told("heap").find("; 1 MiB alive at the peak, 1,538 samples") != std::string::npos);
    CHECK(told("heap-end").find("; 1 MiB not freed, 1,538 samples") != std::string::npos);
    CHECK(
        told("page-faults").find("1,050,112 page-faults (100.00 %), self 1,536 page-faults (0.15 %), 1,538 samples") ==
        0);
}

TEST_CASE("a box counts the samples it was made from, its width is what they weigh") {
    for (const bool reverse : {false, true}) {
        ProfileOf made;
        made.folded("a;b 160\na;c 48\na;narrow 1\na;too 1\n[lost] 20\n");
        made.profile.counts[0].hits = 10;  // a timer's, which stand for 16 periods each
        made.profile.counts[1].hits = 3;
        made.profile.counts[4].hits = 0;  // a note
        const CallTree tree = tree_of(made.profile, {.reverse = reverse, .min_width = 2});
        CHECK(tree.boxes[0].total == 230);
        CHECK(tree.boxes[0].hits == 15);
        CHECK(box_tooltip(made.profile, tree, tree.boxes[0], {}).find("all\n15 samples (100.00 %)") == 0);
        std::uint64_t sum = 0;
        for (const Box& box : tree.boxes) sum += box.depth == 1 ? box.hits : 0;
        CHECK(sum == 15);
        if (reverse) continue;
        CHECK(tree.boxes[1].hits == 0);  // [lost]
        CHECK(tree.boxes[2].hits == 15);
        CHECK(tree.boxes[3].hits == 10);
        CHECK(tree.boxes[5].hits == 2);  // the narrow ones
    }
}
