#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "command_line.hpp"
#include "cut_away.hpp"
#include "export/output.hpp"
#include "gates.hpp"
#include "image.hpp"
#include "memory_budget.hpp"
#include "symbolize/load.hpp"

namespace flameprobe {

enum class SortBy { self, total };

/// What the user asked for; documented in docs/man/flameprobe-render.1.
struct Arguments {
    std::vector<std::string> inputs;
    std::string output;  // empty: standard output
    std::optional<Format> format;
    std::optional<ImageKind> image;  // instead of a format
    FlameGraphOptions graph;
    ServerOptions server;
    SampleFilter filter;
    std::string process;  // a regular expression: only processes whose program's name has a match; empty: all
    /// What a choice of samples says when it stands a second time: of the later side of a comparison.
    struct Second {
        SampleFilter filter;
        std::string process;
    } second;
    /// Of Arguments::filter.requests, which are compared with the others: the slowest per cent, or those that took so
    /// long, in nanoseconds.
    std::optional<double> slowest;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> between;
    CutOptions cut;
    std::optional<std::uint64_t> top;  // rows of the table
    std::optional<SortBy> sort;        // unset: self in a table of one profile, total in a comparison
    Gates gates;
    bool long_names = false;  // in tables
    bool tree = false;        // the process is the first frame
    bool info = false;
    bool by_scope = false;
    bool comment = false;  // Markdown for GitHub
    bool archive = false;
    bool diff = false;
    std::optional<double> fail_above;  // percentage points
    std::string per;                   // what is compared: share, second, run, a unit of work; empty: diff.hpp decides
    std::vector<std::string> debug_directories;
    bool source = false;  // lines and instructions in the page
    std::vector<std::string> source_directories;
    bool debuginfod = false;
    std::uint64_t debuginfod_ns = 60'000'000'000;  // for all requests together
    std::uint64_t most_memory = default_memory_budget();
    bool host_waits = false;  // the end of the profiled program: names may take a quarter of a minute
    bool help = false;
    bool version = false;
};

/// The options that choose samples, and what of them is compared, for other programs that compare. (filter, process,
/// second and per of the Arguments.)
std::vector<CommandOption<Arguments>> selection_options();

/// The options that say what a picture shows and how, for other programs that draw. (graph and cut of the Arguments.)
std::vector<CommandOption<Arguments>> picture_options();

/// Takes one option as a single word, "--debug-dir=/x": how a setting of pictures reaches who draws (Options::drawing).
Problem take_option(std::string_view word, Arguments& into);

/// An Error's message is for the user, without a newline at its end.
Result<Arguments> parse_arguments(int argc, char* const argv[]);

/// "1.5", "1.5s", "200ms", "2m", "1h" in nanoseconds.
Result<std::uint64_t> parse_time(const std::string& text);

std::string usage_text();

}  // namespace flameprobe
