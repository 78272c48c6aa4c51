#include <doctest/doctest.h>

#include <vector>

#include "export/text.hpp"
#include "folded_text.hpp"

using namespace flameprobe;

TEST_CASE("lines are sorted as a tree, not as text") {
    // As text, "a.cold 10" sorts between "a 10" and "a;b 10", and flamegraph.pl then draws `a` twice.
    CHECK(folded(read_folded("a.cold 10\na;b 10\na 10\na$ 1\na;b;c 2\n").profile) ==
          "a 10\na;b 10\na;b;c 2\na$ 1\na.cold 10\n");
}

TEST_CASE("the order of the input does not change the output") {
    CHECK(folded(read_folded("x 1\na;b 2\na 3\n").profile) == folded(read_folded("a 3\nx 1\na;b 2\n").profile));
}

TEST_CASE("stacks that read the same are one line") {
    NamedProfile profile;
    // Two functions of one name in two files, called by two threads.
    const StringId name = profile.strings.intern("f;1");
    for (const char* file : {"one.c", "two.c"}) {
        Function function;
        function.name = name;
        function.file = profile.strings.intern(file);
        profile.functions.push_back(function);
    }
    profile.frames = {{0, 1}, {1, 2}, {0, 3}};
    profile.nodes = {{}, {0, 0}, {0, 1}, {0, 2}};
    profile.counts = {{1, 0, 5}, {2, 1, 6}, {3, 1, 7}};
    CHECK(folded(profile) == "f:1 18\n");
}

TEST_CASE("an empty profile has no lines") { CHECK(folded(NamedProfile{}).empty()); }

TEST_CASE("characters of names that would break a line are replaced") {
    const auto user = [](std::string_view text) { return folded_name(text, FrameKind::user); };
    CHECK(user("[u8; 8]") == "[u8: 8]");
    CHECK(user("a\nb\tc\x01"
               "d\x7f") == "a b c d");
    CHECK(user("  x ") == "x");
    CHECK(user("") == "[no name]");
    CHECK(user("\n") == "[no name]");
    CHECK(user("operator 12") == "operator_12");
    CHECK(user("operator 12.5") == "operator_12.5");
    CHECK(user("operator 12.") == "operator_12.");
    CHECK(user("f(int) [clone .part.0]") == "f(int) [clone .part.0]");
    CHECK(user("a 1 2") == "a 1_2");
    CHECK(user("12") == "12");
    CHECK(user("v1.2") == "v1.2");
    CHECK(user("x .5") == "x .5");
    CHECK(user("# 5") == "#_5");
    CHECK(user("f  _[k]") == "f_[k]");
    CHECK(user("a\xc2\x85"
               "b\xe2\x80\xa8"
               "c") == "a b c");
}

TEST_CASE("kinds of frames are marked in their names") {
    CHECK(folded_name("f 1", FrameKind::kernel) == "f 1_[k]");
    CHECK(folded_name("f", FrameKind::inlined) == "f_[i]");
    CHECK(folded_name("checkout", FrameKind::scope) == "[checkout]");
    CHECK(folded_name("[checkout]", FrameKind::scope) == "[checkout]");
    CHECK(folded_name("[lost]", FrameKind::note) == "[lost]");
    CHECK(folded_name("worker 3", FrameKind::thread) == "worker_3");
}

TEST_CASE("bytes that are no UTF-8 are replaced one by one") {
    const std::string r = "\xef\xbf\xbd";
    CHECK(one_line("a\xff"
                   "b") == "a" + r + "b");
    CHECK(one_line("\xc3") == r);                          // cut off
    CHECK(one_line("\xc0\xaf") == r + r);                  // overlong
    CHECK(one_line("\xe0\x80\x80") == r + r + r);          // overlong
    CHECK(one_line("\xed\xa0\x80") == r + r + r);          // surrogate
    CHECK(one_line("\xf4\x90\x80\x80") == r + r + r + r);  // beyond U+10FFFF
    CHECK(one_line("\xf0\x9f\x94\xa5 \xc3\xa9") == "\xf0\x9f\x94\xa5 \xc3\xa9");
    CHECK(folded(read_folded("a\xff;b 1\na\xfe;b 2\n").profile) == "a" + r + ";b 3\n");
}
