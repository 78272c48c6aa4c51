#include <doctest/doctest.h>

#include <algorithm>

#include "folded_text.hpp"

using namespace flameprobe;

namespace {

FrameKind kind_of(const NamedProfile& profile, std::string_view name) {
    for (const Function& function : profile.functions)
        if (profile.strings.view(function.name) == name) return function.kind;
    FAIL("no function " << name);
    return {};
}

}  // namespace

TEST_CASE("a folded text is read and written back the same") {
    const std::string text = "main;a 3\nmain;a;b 4\nmain;c 5\n";
    const Read read = read_folded(text);
    CHECK(read.error.empty());
    CHECK(read.profile.counts.size() == 3);
    CHECK(read.profile.nodes.size() == 5);
    CHECK(folded(read.profile) == text);
    CHECK(read.profile.warnings.empty());
}

TEST_CASE("the input may be fed in pieces of any size") {
    const std::string text = "main;alpha 3\r\nmain;alpha;beta\t4\nmain;gamma 5";
    const std::string whole = folded(read_folded(text).profile);
    CHECK(whole == "main;alpha 3\nmain;alpha;beta 4\nmain;gamma 5\n");
    for (std::size_t piece = 1; piece < text.size(); ++piece) CHECK(folded(read_folded(text, piece).profile) == whole);
}

TEST_CASE("the input may be fed in pieces of any size, also after the first 64 KiB") {
    std::string text, expected;
    for (int i = 10000; i < 20000; ++i) {
        text += "main;f" + std::to_string(i) + ";g  1 \n";
        expected += "main;f" + std::to_string(i) + ";g 1\n";
    }
    CHECK(folded(read_folded(text, 7).profile) == expected);
    CHECK(folded(read_folded(text, 100'000).profile) == expected);
    CHECK(folded(read_folded(text).profile) == expected);
}

TEST_CASE("tabs, trailing spaces, CRLF and a missing last newline are accepted") {
    CHECK(folded(read_folded("a;b\t1\na;c 2  \na;d \t 3\r\na;e 4").profile) == "a;b 1\na;c 2\na;d 3\na;e 4\n");
}

TEST_CASE("counts that are not positive are ignored and fractions rounded") {
    const Read read = read_folded("a 0\nb -5\nc 0.4\nd 1.5\ne 2.49\nf 3.\ng 1\n");
    CHECK(read.error.empty());
    CHECK(folded(read.profile) == "d 2\ne 2\nf 3\ng 1\n");
}

TEST_CASE("names may hold spaces") {
    CHECK(folded(read_folded("my thread;std::pair<int, int> f(int) 7\n").profile) ==
          "my thread;std::pair<int, int> f(int) 7\n");
}

TEST_CASE("equal stacks are added up, next to each other or not") {
    CHECK(folded(read_folded("a;b 1\na;b 2\nc 1\na;b 4\n").profile) == "a;b 7\nc 1\n");
}

TEST_CASE("a stack that starts with the letters of the one before is another") {
    const Read read = read_folded("a;bc;d 1\na;b 2\na;bc 3\na;bc;de 4\na 5\n;a;;bc; 10\n");
    CHECK(folded(read.profile) == "a 5\na;b 2\na;bc 13\na;bc;d 1\na;bc;de 4\n");
}

TEST_CASE("where every line has two counts, the second is taken") {
    CHECK(folded(read_folded("a;b 10 20\na;c 5 0\na;d 0 7\n").profile) == "a;b 20\na;d 7\n");
    // One line without: then 10 and 12 are part of a name, which is written so that it cannot be misread.
    CHECK(folded(read_folded("a;operator 12 20\na;c 5\n").profile) == "a;c 5\na;operator_12 20\n");
}

TEST_CASE("suffixes of names become kinds of frames") {
    const Read read = read_folded("main;f_[i];sys_read_[k];[lost];[whatever];jit_[j] 2\n");
    CHECK(kind_of(read.profile, "f") == FrameKind::inlined);
    CHECK(kind_of(read.profile, "sys_read") == FrameKind::kernel);
    CHECK(kind_of(read.profile, "[lost]") == FrameKind::note);
    CHECK(kind_of(read.profile, "[whatever]") == FrameKind::user);
    CHECK(kind_of(read.profile, "jit_[j]") == FrameKind::user);
    CHECK(folded(read.profile) == "main;f_[i];sys_read_[k];[lost];[whatever];jit_[j] 2\n");
}

TEST_CASE("the same name of two kinds is two functions") {
    const Read read = read_folded("f;f_[i];f_[k];f 1\n");
    CHECK(read.profile.functions.size() == 3);
    CHECK(read.profile.frames.size() == 3);
    CHECK(read.profile.nodes.size() == 5);
}

TEST_CASE("input that is no folded text is an error that says where and why") {
    CHECK(read_folded("").error == "in.folded: the input is empty: expected lines of FRAME;FRAME;... COUNT");
    CHECK(read_folded("\n \n").error.find("only blank lines") != std::string::npos);
    CHECK(read_folded("\n\x7f"
                      "ELF\x02\x01\n")
              .error ==
          "in.folded: line 2: no count after the stack in \" ELF\": expected lines of FRAME;FRAME;... COUNT");
    CHECK(read_folded("a;b 1e6\n").error.find("line 1") != std::string::npos);
    CHECK(read_folded(" 5\n;; 5\n").error.find("line 1") != std::string::npos);
}

TEST_CASE("bad lines among good ones are counted") {
    const Read read = read_folded("a 1\nno count\nb 2\nnor here\n");
    CHECK(read.error.empty());
    REQUIRE(read.profile.warnings.size() == 1);
    CHECK(read.profile.warnings[0] == "in.folded: 2 lines without a count left out; the first is line 2: \"no count\"");
}

TEST_CASE("a sum of counts above 2^63 - 1 is an error") {
    CHECK(folded(read_folded("a 9223372036854775807\n").profile) == "a 9223372036854775807\n");
    CHECK(read_folded("a 9223372036854775807\nb 1\n").error ==
          "in.folded: line 2: the counts add up to more than 2^63 - 1");
    CHECK(read_folded("a 99999999999999999999999999\n").error.find("line 1") != std::string::npos);
}

TEST_CASE("long names and deep stacks are read") {
    std::string deep;
    for (int i = 0; i < 10'000; ++i) deep += "frame" + std::to_string(i) + ";";
    const std::string text = deep + std::string(100'000, 'x') + " 2\n";
    CHECK(folded(read_folded(text, 4096).profile) == text);
}

TEST_CASE("several inputs are added up in one profile") {
    NamedProfile profile;
    FoldedReader reader(profile, "one");
    reader.feed("a;b 1\n");
    CHECK(reader.finish());
    reader.next_input("two");
    reader.feed("a;b 2 3\na;c 1 1\n");
    CHECK(reader.finish());
    FoldedReader another(profile, "three");
    another.feed("a;b 10\nbad\n");
    CHECK(another.finish());
    CHECK(folded(profile) == "a;b 14\na;c 1\n");
    CHECK(profile.functions.size() == 3);
    CHECK(profile.nodes.size() == 4);
    CHECK(profile.warnings.at(0).starts_with("three: 1 line "));
}
