#include "arguments.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "selection.hpp"

using namespace flameprobe;

namespace {

Result<Arguments> parsed(std::vector<std::string> words) {
    words.insert(words.begin(), "flameprobe-render");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return parse_arguments(static_cast<int>(words.size()), argv.data());
}

bool refused(std::vector<std::string> words, const std::string& because) {
    const auto arguments = parsed(std::move(words));
    return !arguments && arguments.error().message.find(because) != std::string::npos;
}

}  // namespace

TEST_CASE("times are read with their units") {
    CHECK(*parse_time("1.5") == 1'500'000'000);
    CHECK(*parse_time("1.5s") == 1'500'000'000);
    CHECK(*parse_time("200ms") == 200'000'000);
    CHECK(*parse_time("2m") == 120'000'000'000);
    CHECK(*parse_time("1h") == 3'600'000'000'000);
    CHECK(*parse_time("0") == 0);
    for (const char* bad : {"", "s", "-1", "1 s", "1x", "nan", "inf", "1e300", "--"}) CHECK_FALSE(parse_time(bad));
}

TEST_CASE("a misspelt option is told with the one that was meant") {
    CHECK(refused({"a", "--tpo", "5"}, "unrecognized option '--tpo'; did you mean '--top'?"));
    CHECK(refused({"a", "--titel=x"}, "unrecognized option '--titel'; did you mean '--title'?"));
    CHECK(refused({"a", "--output-file", "x"}, "did you mean '--output'?"));
    CHECK(parsed({"a", "--xyzzy"}).error().message == "unrecognized option '--xyzzy'");
    CHECK(parsed({"a", "-q"}).error().message == "unrecognized option '-q'");
    CHECK(refused({"a", "--min", "1"}, "option '--min' may be '--min-samples', '--min-rooted', '--min-width'"));
    CHECK(refused({"a", "--top"}, "option '--top' needs a value"));
    CHECK(refused({"a", "-o"}, "option '-o' needs a value"));
    CHECK(refused({"a", "--info=5"}, "option '--info' takes no value"));
    CHECK(refused({"a", "--to=1", "--tpo", "x"}, "did you mean '--top'?"));
}

TEST_CASE("options may stand before, between and behind inputs") {
    const auto arguments =
        parsed({"a.fprobe", "--top", "5", "b.folded", "-o", "x.svg", "--thread=main", "--min-width", "0.5%"});
    REQUIRE(arguments);
    CHECK(arguments->inputs == std::vector<std::string>{"a.fprobe", "b.folded"});
    CHECK(arguments->top == 5);
    CHECK(arguments->output == "x.svg");
    CHECK(arguments->filter.thread == "main");
    CHECK(arguments->graph.min_width == doctest::Approx(0.5));
}

TEST_CASE("a picture for a README is narrow, and compares few threads with many") {
    const auto arguments = parsed({"a.fprobe", "--for", "readme"});
    REQUIRE(arguments);
    CHECK(arguments->graph.width == 840);
    CHECK(arguments->cut.merge_threads);
    CHECK(refused({"a.fprobe", "--width", "20"}, "--width: give 300 to 20000 pixels"));
    CHECK(refused({"a.fprobe", "--min-width", "101"}, "--min-width: '101' is not a percentage from 0 to 100"));
}

TEST_CASE("a bad value names the option, the value and what is accepted") {
    CHECK(refused({"a", "--top", "-3"}, "--top: '-3'"));
    CHECK(refused({"a", "--top", "3x"}, "--top: '3x'"));
    CHECK(refused({"a", "--top", "99999999999999999999"}, "--top"));
    CHECK(refused({"a", "--format", "gif"}, "'gif'"));
    CHECK(refused({"a", "--colors", "pink"}, "pink"));
    CHECK(refused({"a", "--sort", "name"}, "neither self nor total"));
    CHECK(refused({"a", "--from", "now"}, "'now' is not a time"));
    CHECK(refused({"a", "--from", "2s", "--to", "1s"}, "--from must be before --to"));
    CHECK(refused({"a", "--min-width", "200"}, "0 to 100"));
    CHECK(refused({"a", "--min-width", "nan"}, "0 to 100"));
    CHECK(refused({}, "at least one input"));
    CHECK(refused({"--diff", "a"}, "two inputs"));
    CHECK(refused({"--diff", "a", "b", "c"}, "takes two inputs"));
    CHECK(refused({"--diff", "a", "--thread", "x", "--pid", "3"}, "compared with the rest is chosen in one way"));
    CHECK(
        refused({"--diff", "a", "--from", "1s", "--to", "2s", "--from", "4s", "--to", "3s"}, "--from must be before"));
    CHECK(refused({"a", "--thread", "x", "--thread", "y"}, "stands twice only with --diff"));
    CHECK(refused({"--fail-above", "5%", "a"}, "belongs to --diff"));
    CHECK(refused({"--archive", "a", "b"}, "one .fprobe"));
}

TEST_CASE("a comparison of one input has what was chosen after its rest, or one choice a side") {
    const auto rest = parsed({"--diff", "a", "--from", "1s", "--to", "2s"});
    REQUIRE(rest);
    const auto by_time = selected_sides(*rest);
    CHECK(by_time[0].arguments.filter.others);
    CHECK_FALSE(by_time[1].arguments.filter.others);
    CHECK(by_time[0].words == "all but from 1 s on, before 2 s");
    CHECK(by_time[1].words == "from 1 s on, before 2 s");
    CHECK(by_time[1].arguments.inputs == std::vector<std::string>{"a"});
    const auto two = parsed({"--diff", "a", "b", "--thread", "x", "--thread", "y", "--event", "cpu"});
    REQUIRE(two);
    const auto sides = selected_sides(*two);
    CHECK(sides[0].arguments.filter.thread == "x");
    CHECK(sides[1].arguments.filter.thread == "y");
    CHECK(sides[1].arguments.inputs == std::vector<std::string>{"b"});
    CHECK_FALSE(sides[0].arguments.filter.others);
}
