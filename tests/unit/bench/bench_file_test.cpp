#include "bench_file.hpp"

#include <doctest/doctest.h>

using namespace flameprobe::bench;

namespace {

constexpr const char* redis = R"(name = "redis"
repeat = 3
[sweep]
io = [1, 2]
[[scenario]]
name = "set"
command = ["redis-server", "--port", "{port}", "--save", "", "--io-threads", "{io}"]   # {port}: a free one
ready = { port = "{port}", within = "10s" }
load = ["redis-benchmark", "-p", "{port}", "-t", "set", "-n", "50000", "-q"]
work = { pattern = "SET: ([0-9.]+) requests per second", unit = "requests", per = "second" }
stop = "TERM"
)";

std::string error_of(const std::string& text) {
    const auto file = parse_bench_file(text, "a.toml");
    return file ? "" : file.error().message;
}

std::string with_scenario(const std::string& lines) { return "[[scenario]]\ncommand = [\"true\"]\n" + lines; }

}  // namespace

TEST_CASE("the manual's example file is parsed") {
    const auto file = parse_bench_file(redis, "redis.toml");
    REQUIRE(file);
    CHECK(file->name == "redis");
    CHECK(file->repeat == 3);
    REQUIRE(file->scenarios.size() == 1);
    const Scenario& scenario = file->scenarios[0];
    CHECK(scenario.name == "set");
    CHECK(scenario.command ==
          std::vector<std::string>{"redis-server", "--port", "{port}", "--save", "", "--io-threads", "{io}"});
    CHECK(scenario.ready.port == "{port}");
    CHECK(scenario.ready.within.count() == 10);
    CHECK(scenario.work.seconds == 1);
    CHECK(scenario.stop_signal == 15);
    REQUIRE(scenario.sweep.at("io").size() == 2);
    CHECK(scenario.sweep.at("io")[1].text == "2");
    CHECK(scenario.sweep.at("io")[1].number == 2.0);
}

TEST_CASE("a unit of work that the program counts has the count's name") {
    const auto file = parse_bench_file(with_scenario("work = { count = \"requests\" }\n"), "a.toml");
    REQUIRE(file);
    CHECK(file->scenarios[0].work.count == "requests");
    CHECK(file->scenarios[0].work.unit == "requests");
}

TEST_CASE("an error names the line, what is wrong and what is accepted") {
    CHECK(error_of("name = \n").starts_with("a.toml:1: not TOML: "));
    CHECK(error_of("name = \"x\"\n") == "a.toml:1: there is no [[scenario]] in it");
    CHECK(error_of("repeat = 0\n[[scenario]]\ncommand = [\"a\"]") ==
          "a.toml:1: 'repeat' has to be a whole number from 1 to 1000");
    CHECK(error_of("[[scenario]]\nname = \"x\"\n").find("a scenario needs a 'command'") != std::string::npos);
    CHECK(error_of(with_scenario("wok = 1\n"))
              .starts_with("a.toml:3: a scenario has no 'wok'; accepted: name, command, load"));
    CHECK(error_of(with_scenario("seconds = \"ten\"\n"))
              .starts_with("a.toml:3: 'seconds' has to be a time, as in \"10s\""));
    CHECK(error_of(with_scenario("stop = \"NOW\"\n"))
              .starts_with("a.toml:3: 'stop' is 'NOW'; accepted: a signal's name"));
    CHECK(error_of(with_scenario("load = \"a b\"\n")).starts_with("a.toml:3: 'load' has to be a list of strings"));
    CHECK(error_of(with_scenario("work = { pattern = \"requests\" }\n")).find("has no group") != std::string::npos);
    CHECK(error_of(with_scenario("work = { pattern = \"(\" }\n")).find("is no regular expression") !=
          std::string::npos);
    CHECK(error_of(with_scenario("work = { pattern = \"(1)\", per = \"day\" }\n"))
              .find("accepted: second, minute, hour, run") != std::string::npos);
    CHECK(error_of(with_scenario("work = { count = \"requests\", pattern = \"(1)\" }\n")).find("or a 'count'") !=
          std::string::npos);
    CHECK(error_of(with_scenario("work = { count = \"requests\", per = \"second\" }\n"))
              .find("'per' has no meaning beside 'count'") != std::string::npos);
    CHECK(error_of(with_scenario("latency = { count = \"requests\" }\n")).find("accepted: pattern, unit, per") !=
          std::string::npos);
    CHECK(error_of(with_scenario("ready = { url = \"https://x\" }\n")).find("has to begin with http://") !=
          std::string::npos);
    CHECK(error_of(with_scenario("sweep = { n = [] }\n")).find("has to be a list that is not empty") !=
          std::string::npos);
    std::string many = "[0";
    for (int i = 1; i < 2000; ++i) many += ", " + std::to_string(i);
    CHECK(error_of(with_scenario("sweep = { a = " + many + "], b = " + many + "], c = " + many + "] }\n"))
              .find("more than 10,000 combinations") != std::string::npos);
    CHECK(error_of(with_scenario("sweep = { n = [1, 1] }\n")).find("has the value 1 twice") != std::string::npos);
    CHECK(error_of(with_scenario("load = [\"x\", \"{io}\"]\n"))
              .find("'{io}' is no variable; accepted: {directory}, {port}") != std::string::npos);
    CHECK(error_of(with_scenario("name = \"x\"\n") + with_scenario("name = \"x\"\n")) ==
          "a.toml:4: two scenarios are called 'x'");
}

TEST_CASE("names of signals are parsed") {
    CHECK(parse_signal("TERM") == 15);
    CHECK(parse_signal("SIGINT") == 2);
    CHECK_FALSE(parse_signal("SIGNOTHING"));
}

TEST_CASE("names in braces are listed and filled in") {
    CHECK(fill_in("-p {port} {a} {} {a b} {{port}} {x", {{"port", "42"}}) == "-p 42 {a} {} {a b} {port} {x");
    CHECK(placeholders_in("{port} {{io}} {\"json\": 1} {n_2}") == std::vector<std::string>{"port", "n_2"});
}
