// Where results go: FLAMEPROBE_OUT, and the windows of FLAMEPROBE_PUSH.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collect/profile_file.hpp"
#include "session/options.hpp"

namespace flameprobe {

/// What a FLAMEPROBE_OUT template is filled with.
struct PathFacts {
    std::string executable;        // %e: base name
    std::uint32_t pid = 0;         // %p
    std::uint64_t start_unix = 0;  // %t: seconds since 1970
    unsigned dump = 0;             // %n: 0 for the results at exit
    std::string directory;         // relative paths start here
};

/// A template that only names a directory, "results/", is of the default name in it.
std::string whole_template(std::string_view out);

/// The path of the results without their ending, absolute. With `number`, a template without %n gets ".N" appended for
/// numbered dumps.
std::string expand_path(std::string_view pattern, const PathFacts& facts, bool number = true);

/// `stem`, or the first of STEM.2, STEM.3, ... under which there is no file that must be kept: one that `older` keeps,
/// or one that was written since the run began, perhaps by another of its processes.
std::string unused_stem(const std::string& stem, const std::vector<Format>& formats, const OlderResults& older);

// FLAMEPROBE_PUSH: windows for `flameprobe push`. Names that begin with a dot are being written; the uploader takes
// what a killed program left under one after a minute.

std::string window_pattern(const std::string& directory);

std::string finished_pattern(const std::string& directory);

/// Makes the directory, for this user only, if there is none. Empty, or why nothing may be written there: it is a link,
/// or others could put their files in the place of ours.
std::string prepare_spool(const std::string& directory);

/// How long the first window is: up to `every_ns`, at random, so that the programs of a host do not end theirs
/// together.
std::uint64_t first_window_ns(std::uint64_t every_ns);

/// Gives the finished window the name under which the uploader finds it.
void publish_window(const std::string& path);

}  // namespace flameprobe
