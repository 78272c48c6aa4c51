#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "page_sources.hpp"
#include "profile_of.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

NamedProfile profile() {
    ProfileOf made;
    made.stack({"main@3", "work@10", "i:step@20", "i:inner@30"}, 5);
    made.stack({"main@3", "work@10", "i:step@21"}, 4);
    made.stack({"main@3", "work@12"}, 3);
    made.stack({"main@3", "work@12", "work@12", "leaf@40"}, 2);
    for (NamedCount& count : made.profile.counts) count.hits = 1;  // each stands for several periods
    for (Function& function : made.profile.functions) function.file = made.profile.strings.intern("/gone/src/work.cpp");
    return std::move(made.profile);
}

const FunctionSource& source_of(const NamedProfile& profile, const PageSource& source, std::string_view name) {
    for (const FunctionSource& function : source.functions)
        if (profile.strings.view(profile.functions[function.function].name) == name) return function;
    FAIL("no function is called " << name);
    return source.functions.front();
}

}  // namespace

TEST_CASE("lines of a function have its own samples and those of what it calls, inlined ones in place") {
    const NamedProfile made = profile();
    const PageSource source = source_lines(made, 10);
    REQUIRE(source.functions.size() == 2);  // main has no samples of its own
    const FunctionSource& work = source_of(made, source, "work");
    CHECK(&work == &source.functions.front());
    CHECK(work.self == 12);
    REQUIRE(work.lines.size() == 2);
    const SourceLine &call = work.lines[0], &other = work.lines[1];
    CHECK(call.line == 10);
    CHECK(call.self.weight == 0);
    CHECK(call.total.weight == 9);
    CHECK(call.total.hits == 2);
    REQUIRE(call.inlined.size() == 1);
    REQUIRE(call.inlined[0].lines.size() == 2);
    CHECK(call.inlined[0].lines[0].line == 20);
    CHECK(call.inlined[0].lines[0].self.weight == 0);
    CHECK(call.inlined[0].lines[0].total.weight == 5);
    CHECK(call.inlined[0].lines[0].inlined[0].lines[0].self.weight == 5);
    CHECK(call.inlined[0].lines[0].inlined[0].lines[0].self.hits == 1);
    CHECK(call.inlined[0].lines[1].self.weight == 4);
    CHECK(other.self.weight == 3);
    CHECK(other.self.hits == 1);
    CHECK(other.total.hits == 2);
    CHECK(other.total.weight == 5);  // the recursion counts once
    CHECK(source_lines(made, 1).functions.size() == 1);
}

TEST_CASE("the text of lines is found below the given directories") {
    namespace fs = std::filesystem;
    char place[] = "/tmp/flameprobe-source-XXXXXX";
    const fs::path directory = mkdtemp(place);
    fs::create_directory(directory / "src");
    {
        std::ofstream file(directory / "src" / "work.cpp");
        for (int line = 1; line <= 100; ++line) file << "line " << line << "\r\n";
    }
    const NamedProfile made = profile();
    PageSource source = source_lines(made, 10);
    add_source_text(made, {directory.string()}, source);
    const FunctionSource& work = source_of(made, source, "work");
    CHECK(work.note.empty());
    REQUIRE(!work.text.empty());
    CHECK(work.text.front().line == 7);  // where the function is declared
    CHECK(work.text.back().line == 18);
    for (const SourceText& line : work.text) CHECK(line.text == "line " + std::to_string(line.line));
    REQUIRE(source.inlined.size() == 2);
    PageSource without = source_lines(made, 10);
    add_source_text(made, {}, without);
    CHECK(without.functions.front().text.empty());
    CHECK(without.functions.front().note.find("/gone/src/work.cpp was not found") == 0);
    fs::remove_all(directory);
}
