// What a bench file asks for. docs/bench.md is the manual.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace flameprobe::bench {

using Seconds = std::chrono::duration<double>;

/// One value of a variable that sweeps, as it stands in command lines.
struct SweepValue {
    std::string text;
    std::optional<double> number;  // if the value is a number; only numbers have a scaling report

    bool operator==(const SweepValue&) const = default;
};
using Sweep = std::map<std::string, std::vector<SweepValue>>;

/// When the program is ready for the load. All conditions that are given have to come true.
struct Ready {
    std::string port;  // a TCP port of 127.0.0.1 that accepts connections
    std::string line;  // a regular expression over the lines that the program prints
    std::string url;   // http://HOST[:PORT]/PATH that answers with 2xx or 3xx
    Seconds after{0};  // a fixed time, in addition
    Seconds within{30};
};

/// A number in what the load prints (the pattern's first group, of the last line that matches), or what the program
/// counts itself.
struct Reading {
    std::string pattern;  // empty: there is none
    std::string count;    // name of a FlameProbe::count; empty: there is none
    std::string unit;
    double seconds = 0;  // the number is per this long (1: per second); 0: it is a count over the whole load

    bool given() const { return !pattern.empty() || !count.empty(); }
};

struct Scenario {
    std::string name;
    std::vector<std::string> command;
    std::vector<std::string> load;  // empty: the program itself is the load, and ends by itself or after `seconds`
    std::map<std::string, std::string> environment;
    std::string directory;  // in which program and load run; empty: the bench's own
    Ready ready;
    Reading work, latency;
    int stop_signal = 15;
    Seconds stop_within{30};
    Seconds warm_up{0};
    Seconds seconds{0};  // 0: until the load ends
    Seconds timeout{600};
    Sweep sweep;
};

/// What is measured beside CPU time.
struct Events {
    bool waits = false, allocations = false;

    /// As FLAMEPROBE_EVENT and the key `event` have it.
    std::string text() const;
};

struct BenchFile {
    std::string name;
    std::string text;  // as it was read, to compare with when an interrupted bench is resumed
    unsigned repeat = 3;
    unsigned frequency = 499;
    Events events;
    std::vector<Scenario> scenarios;
};

/// An Error says file, line and what is accepted. Nothing is started.
Result<BenchFile> read_bench_file(const std::string& path);
/// Parses the text of a bench file; `path` is for messages.
Result<BenchFile> parse_bench_file(const std::string& text, const std::string& path);

/// "cpu,offcpu,alloc" or a part of it; nothing where it has another event.
std::optional<Events> parse_events(const std::string& text);
/// "TERM", "SIGTERM" or "15"; nothing where there is no such signal.
std::optional<int> parse_signal(const std::string& text);
/// An Error's message if the regular expression is bad or, with `group`, has no group to read from; else empty.
std::string pattern_problem(const std::string& pattern, bool group);
/// Names in {braces} that are neither variables of the sweep nor known ({port}, ...), with what is accepted; or empty.
std::string placeholder_problem(const Scenario& scenario);

// {name} in command lines, environment and URLs.

/// The names in braces, as in {io}. {{io}} stands for the text {io}, and a brace without a name and a closing brace for
/// itself.
std::vector<std::string> placeholders_in(const std::string& text);
/// Replaces each placeholder by its value; those without a value stay.
std::string fill_in(const std::string& text, const std::map<std::string, std::string>& values);
/// The placeholders that are no variables: port (a free one), seconds, repetition, directory.
const std::set<std::string>& known_placeholders();

using SweepValues = std::map<std::string, SweepValue>;

// The runs of a bench, in their order.

/// "set io=2", for people.
std::string title_of(const std::string& scenario, const SweepValues& sweep);

/// A scenario with one value for each variable.
struct Point {
    const Scenario* scenario = nullptr;
    SweepValues sweep;

    std::string title() const { return title_of(scenario->name, sweep); }
    /// "set/io=2" or "set/all", with only characters that file names may have.
    std::string path() const;
};

/// Every scenario with every combination of its variables. `file` has to outlive them.
std::vector<Point> points_of(const BenchFile& file);

struct PlannedRun {
    std::size_t point = 0;  // index
    unsigned repetition = 1;
};
/// All points, repetition by repetition, every second one in reverse order, so that drift over time (heat, neighbours)
/// affects all points alike.
std::vector<PlannedRun> plan_of(std::size_t points, unsigned repeat);

}  // namespace flameprobe::bench
