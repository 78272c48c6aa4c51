// What the environment asks for (docs: flameprobe(1), ENVIRONMENT).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model.hpp"
#include "profile/names.hpp"
#include "profile/output_format.hpp"

namespace flameprobe {

enum class EngineChoice : std::uint8_t { automatic, ring, signal, timer };
enum class KernelChoice : std::uint8_t { automatic, on, off };
enum class LogMode : std::uint8_t { automatic, quiet, standard_error, file };

/// The ring engine takes at most 60 KiB of it (capture/event_source.hpp).
inline constexpr std::uint32_t most_stack_bytes = 1 << 20;

/// A template without its directory (session/output_path.hpp).
inline constexpr const char* default_out = "flameprobe.%e.%p";

struct Options {
    std::uint64_t frequency = 99;  // 1 to 20000 a second
    std::string out = default_out;
    std::vector<Format> formats = {Format::folded, Format::svg};
    EngineChoice engine = EngineChoice::automatic;
    bool by_frame_pointers = false;            // rather than by unwind tables
    std::uint32_t stack_bytes = 0;             // 1024 to most_stack_bytes, a multiple of 8; 0: see stack_bytes_for()
    std::string event = "cpu-clock";           // the run's own event
    std::vector<std::string> more_events;      // perf's, sampled beside it
    std::vector<std::string> shown = {"cpu"};  // events that were asked for: cpu, offcpu, wall, page-faults, ...
    std::uint64_t offcpu_frequency = 99;       // looks at threads that wait, 1 to 20000 a second
    std::uint64_t offcpu_least_ns = 0;         // shorter waits do not count

    std::uint64_t alloc_bytes = 512 * 1024;  // between two samples of allocations, in the mean

    bool off_cpu() const;
    bool allocations() const;
    KernelChoice kernel = KernelChoice::automatic;
    std::optional<bool> start;        // nothing: preloaded yes, linked no
    int toggle_signal = 0;            // 0: none
    std::uint64_t dump_every_ns = 0;  // 0: off
    /// CPU time below which a process that no sample hit has no results.
    std::uint64_t least_cpu_ns = 20'000'000;
    /// Size of a profile on disk, its earlier parts included. An eighth of it, the size of one file, holds a day of one
    /// busy thread at 99 Hz, and is read and written again in less than a second.
    std::uint64_t most_bytes = std::uint64_t{512} << 20;
    std::vector<std::string> drawing;  // options of flameprobe-render that flameprobe-draw is given: --debug-dir=/x
    std::string push_directory;        // absolute: windows for `flameprobe push` instead of results; empty: off
    LabelList labels;
    bool children = true;
    bool separate = false;  // each process has results of its own
    /// Whether all processes of the run have one result: not where there are several anyway, one after another.
    bool one_result() const { return !separate && push_directory.empty() && dump_every_ns == 0; }
    LogMode log = LogMode::automatic;
    std::string log_path;
};

/// How much stack to copy at a frequency, unless the user says it. Below 1 kHz the copy costs nothing that could be
/// measured; 40 KiB hold a frame of PCRE2's and what stands around it, and let three samples fit into 128 KiB. Above,
/// each KiB is felt; samples are so close in time that most stacks deeper than 8 KiB are whole all the same
/// (docs/decisions/0001-bytes-of-stack.md).
constexpr std::uint32_t stack_bytes_for(std::uint64_t frequency) { return frequency <= 1000 ? 40 * 1024 : 8 * 1024; }

/// From "NAME=VALUE" lines. A variable that is unknown or has a bad value leaves the default and adds one line to
/// `problems` that names the variable, the value and what is accepted.
Options read_options(const std::vector<std::string_view>& environment, std::vector<std::string>& problems);

}  // namespace flameprobe
