#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bench_file.hpp"
#include "figures.hpp"
#include "run_record.hpp"

using namespace flameprobe::bench;

TEST_CASE("every combination of what sweeps, in interleaved order") {
    const auto file = parse_bench_file(
        "[[scenario]]\nname = \"a b\"\ncommand = [\"x\"]\nsweep = { n = [1, 2], mode = [\"r/w\"] }\n"
        "[[scenario]]\nname = \"c\"\ncommand = [\"x\"]\n",
        "x");
    REQUIRE(file);
    const auto points = points_of(*file);
    REQUIRE(points.size() == 3);
    CHECK(points[1].title() == "a b mode=r/w n=2");
    CHECK(points[1].path() == "a~20b/mode=r~2fw,n=2");
    CHECK(points[2].path() == "c/all");
    std::vector<std::size_t> order;
    for (const PlannedRun& run : plan_of(points.size(), 3)) order.push_back(run.point);
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 2, 1, 0, 0, 1, 2});
}

TEST_CASE("an estimated time is rounded to a readable unit") {
    CHECK(rounded_span_text(0.4) == "0 s");
    CHECK(rounded_span_text(89) == "89 s");
    CHECK(rounded_span_text(100) == "2 min");
    CHECK(rounded_span_text(5000) == "83 min");
    CHECK(rounded_span_text(9900) == "3 h");
}

TEST_CASE("the last number that a pattern finds in a load's output is read") {
    char path[] = "/tmp/flameprobe-reading-XXXXXX";
    const int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    std::ofstream(path) << "SET: rps=10.0\rSET: rps=20.0\rSET: 1,234.50 requests per second, p50=0.1\nnothing\n";
    CHECK(read_number("SET: ([0-9.,]+) requests per second", path) == 1234.5);
    CHECK(read_number("rps=([0-9.]+)", path) == 20.0);
    CHECK_FALSE(read_number("(none)", path));
    CHECK_FALSE(read_number("(nothing)", path));
    unlink(path);
}
