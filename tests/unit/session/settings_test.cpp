#include "session/settings.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <fstream>
#include <iterator>

#include "capture/event_source.hpp"

using namespace flameprobe;

namespace {

Options read(std::vector<std::string_view> lines, std::vector<std::string>& problems) {
    return read_options(lines, problems);
}

}  // namespace

TEST_CASE("settings are read, and other variables ignored") {
    std::vector<std::string> problems;
    const auto options =
        read({"PATH=/bin", "FLAMEPROBE_FREQ=997", "FLAMEPROBE_OUT=/tmp/%e.%p.%%", "FLAMEPROBE_FORMAT=json,svg,json",
              "FLAMEPROBE_ENGINE=timer", "FLAMEPROBE_UNWIND=fp", "FLAMEPROBE_STACK=32761", "FLAMEPROBE_KERNEL=off",
              "FLAMEPROBE_START=0", "FLAMEPROBE_SIGNAL=SIGUSR2", "FLAMEPROBE_DUMP_EVERY=5m", "FLAMEPROBE_CHILDREN=off",
              "FLAMEPROBE_LOG=/tmp/log", "FLAMEPROBE_MAX_SIZE=3M",
              "FLAMEPROBE_DEBUG_DIR=/a::/b/c:", "FLAMEPROBE_MIN_CPU=1500us"},
             problems);
    CHECK(problems.empty());
    CHECK(options.frequency == 997);
    CHECK(options.out == "/tmp/%e.%p.%%");
    CHECK(options.formats == std::vector<Format>{Format::json, Format::svg});
    CHECK(options.engine == EngineChoice::timer);
    CHECK(options.by_frame_pointers);
    CHECK(options.stack_bytes == 32760);
    CHECK(options.kernel == KernelChoice::off);
    CHECK(options.start == false);
    CHECK(options.toggle_signal == SIGUSR2);
    CHECK(options.dump_every_ns == 300'000'000'000);
    CHECK_FALSE(options.children);
    CHECK(options.most_bytes == 3 << 20);
    CHECK(options.least_cpu_ns == 1'500'000);
    CHECK(options.drawing == std::vector<std::string>{"--debug-dir=/a", "--debug-dir=/b/c"});
    CHECK(options.log == LogMode::file);
    CHECK(options.log_path == "/tmp/log");
}

TEST_CASE("an unknown variable is told with what was meant, else with all") {
    std::vector<std::string> problems;
    read({"FLAMEPROBE_FREK=99", "FLAMEPROBE_FROMAT=svg", "FLAMEPROBE_QUARREL=1"}, problems);
    REQUIRE(problems.size() == 3);
    CHECK(problems[0] == "FLAMEPROBE_FREK='99' is not a variable of FlameProbe; did you mean FLAMEPROBE_FREQ?");
    CHECK(problems[1].ends_with("did you mean FLAMEPROBE_FORMAT?"));
    CHECK(problems[2].find("accepted are FLAMEPROBE_FREQ, FLAMEPROBE_OUT, ") != std::string::npos);
}

TEST_CASE("sizes have units") {
    std::vector<std::string> problems;
    CHECK(read({"FLAMEPROBE_STACK=64K"}, problems).stack_bytes == 65536);
    CHECK(read({"FLAMEPROBE_STACK=1M"}, problems).stack_bytes == 1 << 20);
    CHECK(problems.empty());
    read({"FLAMEPROBE_STACK=2M"}, problems);
    CHECK(problems.size() == 1);
}

TEST_CASE("a bad value is named, with what is accepted, and the default stays") {
    for (const std::string_view line : {"FLAMEPROBE_FREQ=0",
                                        "FLAMEPROBE_FREQ=20001",
                                        "FLAMEPROBE_FREQ=99x",
                                        "FLAMEPROBE_FREQ=",
                                        "FLAMEPROBE_FREQ=-1",
                                        "FLAMEPROBE_OUT=",
                                        "FLAMEPROBE_OUT=a%q",
                                        "FLAMEPROBE_OUT=a%",
                                        "FLAMEPROBE_FORMAT=svgz",
                                        "FLAMEPROBE_FORMAT=svg,,json",
                                        "FLAMEPROBE_ENGINE=perf",
                                        "FLAMEPROBE_UNWIND=lbr",
                                        "FLAMEPROBE_STACK=100",
                                        "FLAMEPROBE_STACK=1048577",
                                        "FLAMEPROBE_KERNEL=yes",
                                        "FLAMEPROBE_EVENT=cpu,",
                                        "FLAMEPROBE_EVENT=",
                                        "FLAMEPROBE_START=yes",
                                        "FLAMEPROBE_SIGNAL=KILL",
                                        "FLAMEPROBE_SIGNAL=NOSUCH",
                                        "FLAMEPROBE_DUMP_EVERY=0s",
                                        "FLAMEPROBE_DUMP_EVERY=5d",
                                        "FLAMEPROBE_CHILDREN=1",
                                        "FLAMEPROBE_LOG=",
                                        "FLAMEPROBE_MAX_SIZE=1023K",
                                        "FLAMEPROBE_MAX_SIZE=M",
                                        "FLAMEPROBE_MAX_SIZE=1E",
                                        "FLAMEPROBE_MAX_SIZE=99999999T",
                                        "FLAMEPROBE_DEBUG_DIR=:",
                                        "FLAMEPROBE_OFFCPU_FREQ=0",
                                        "FLAMEPROBE_OFFCPU_MIN=1h",
                                        "FLAMEPROBE_OFFCPU_MIN=",
                                        "FLAMEPROBE_OFFCPU_MIN=-1us",
                                        "FLAMEPROBE_EVENT=offcpu,x",
                                        "FLAMEPROBE_EVENT=cycles,,wall",
                                        "FLAMEPROBE_ALLOC_BYTES=0",
                                        "FLAMEPROBE_ALLOC_BYTES=1X",
                                        "FLAMEPROBE_MIN_CPU=-1",
                                        "FLAMEPROBE_MIN_CPU=1h"}) {
        CAPTURE(line);
        std::vector<std::string> problems;
        const auto options = read({line}, problems);
        REQUIRE(problems.size() == 1);
        CHECK(problems[0].find(line.substr(0, line.find('='))) == 0);
        CHECK(problems[0].find("accepted") != std::string::npos);
        CHECK(options.frequency == 99);
        CHECK(options.out == "flameprobe.%e.%p");
        CHECK(options.formats.size() == 2);
        CHECK(options.stack_bytes == 0);
        CHECK(options.most_bytes == 512 << 20);
        CHECK(options.least_cpu_ns == 20'000'000);
    }
}

TEST_CASE("every event is accepted, and named where another is refused") {
    std::vector<std::string> problems;
    read({"FLAMEPROBE_EVENT=no-such-event"}, problems);
    REQUIRE(problems.size() == 1);
    for (std::string rest = event_names(); !rest.empty();) {
        const auto end = std::min(rest.find(", "), rest.size());
        const std::string name = rest.substr(0, end);
        rest.erase(0, end + 2);
        CAPTURE(name);
        CHECK(problems[0].find(name) != std::string::npos);
        std::vector<std::string> none;
        CHECK(read({"FLAMEPROBE_EVENT=" + name}, none).event == name);
        CHECK(none.empty());
    }
}

TEST_CASE("events are a list: a clock comes first, and waits are sampled for offcpu and wall") {
    struct Expected {
        std::string_view value;
        std::string event;
        std::vector<std::string> more, shown;
        bool off_cpu;
    };
    for (const Expected& expected : std::initializer_list<Expected>{
             {"cpu", "cpu-clock", {}, {"cpu"}, false},
             {"offcpu", "cpu-clock", {}, {"offcpu"}, true},
             {"wall,cpu-clock,offcpu", "cpu-clock", {}, {"cpu", "wall", "offcpu"}, true},
             {"task-clock,offcpu,offcpu", "task-clock", {}, {"cpu", "offcpu"}, true},
             {"page-faults", "page-faults", {}, {"page-faults"}, false},
             {"offcpu,page-faults", "page-faults", {}, {"page-faults", "offcpu"}, true},
             {"cpu,page-faults", "cpu-clock", {"page-faults"}, {"cpu", "page-faults"}, false},
             {"page-faults,offcpu,cpu", "cpu-clock", {"page-faults"}, {"cpu", "page-faults", "offcpu"}, true},
             {"cycles,wall", "cpu-clock", {"cycles"}, {"cycles", "wall"}, true},
             {"alloc", "cpu-clock", {}, {"alloc", "alloc-objects"}, false},
             {"heap,cpu", "cpu-clock", {}, {"cpu", "heap", "heap-objects", "heap-end"}, false},
             {"alloc,page-faults", "page-faults", {}, {"page-faults", "alloc", "alloc-objects"}, false},
             {"offcpu,page-faults,cycles", "page-faults", {"cycles"}, {"page-faults", "offcpu", "cycles"}, true},
         }) {
        CAPTURE(expected.value);
        std::vector<std::string> problems;
        const std::string line = "FLAMEPROBE_EVENT=" + std::string(expected.value);
        const auto options = read({line}, problems);
        CHECK(problems.empty());
        CHECK(options.event == expected.event);
        CHECK(options.more_events == expected.more);
        CHECK(options.shown == expected.shown);
        CHECK(options.off_cpu() == expected.off_cpu);
    }
}

TEST_CASE("the shortest wait that counts is a time, in microseconds where no unit is given") {
    for (const auto& wait : {std::pair<std::string, std::uint64_t>{"0", 0},
                             {"50", 50'000},
                             {"50us", 50'000},
                             {"3ms", 3'000'000},
                             {"2s", 2'000'000'000},
                             {"7ns", 7}}) {
        CAPTURE(wait.first);
        std::vector<std::string> problems;
        const std::string line = "FLAMEPROBE_OFFCPU_MIN=" + wait.first;
        CHECK(read({line}, problems).offcpu_least_ns == wait.second);
        CHECK(problems.empty());
    }
}

TEST_CASE("what a problem quotes is short and printable") {
    std::vector<std::string> problems;
    const std::string line = "FLAMEPROBE_FREQ=\x1b[31m" + std::string(10000, 'x');
    read({line}, problems);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].size() < 300);
    CHECK(problems[0].find('\x1b') == std::string::npos);
}

TEST_CASE("the man page names every variable, and every option of flameprobe run") {
    std::ifstream file(MAN_PAGE);
    std::string page{std::istreambuf_iterator<char>(file), {}};
    std::erase(page, '\\');
    REQUIRE(!page.empty());
    for (const Setting& setting : settings()) {
        CAPTURE(setting.variable);
        CHECK(page.find(".B " + std::string(setting.variable)) != std::string::npos);
        CHECK(page.find("--" + setting.option()) != std::string::npos);
    }
}
