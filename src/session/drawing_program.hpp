// The program that draws what was recorded, outside of the host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "session/options.hpp"

namespace flameprobe {

struct Drawn {
    std::vector<std::string> messages;  // "wrote PATH"
    std::vector<std::string> problems;  // one line each
};

/// Of a whole run, whose folder is STEM.run; of one profile, to results of the name STEM.
struct DrawingOrder {
    std::string input;
    std::string stem;  // empty: the input is a run's folder
    bool low_priority = false;
    const Descriptor* smaller = nullptr;  // nothing is drawn: the profile is written into this file, smaller
};

/// What the collector does while it waits: `alive` when there is a sign of life, `meanwhile`, if it is not empty, every
/// few milliseconds.
struct WhileDrawing {
    std::function<void()> alive, meanwhile;
};

/// Starts flameprobe-draw and waits until the results are written. An Error, one sentence that ends with the command
/// that draws, where it cannot be started, fails, or makes no progress for 4 s: the profiles are there still. It
/// is found beside this library only. It is no child of the host's when it runs, gets nothing of the host's environment
/// but where debug files are found, and no descriptor of the host's. The collector thread only.
Result<Drawn> draw(const DrawingOrder& order, const Options& options, const WhileDrawing& watch);
/// The same for a run, unless the program that this is a part of does it.
inline auto* draw_run = &draw;

/// Writes a profile into an empty file, smaller: by that program, unless the program that this is a part of does it.
using WriteSmaller = Result<void>(const std::string& profile, const Descriptor& into, const WhileDrawing& watch);
WriteSmaller let_write_smaller;
inline WriteSmaller* write_smaller = &let_write_smaller;

/// That sentence's end: `profile` may be a run's folder.
std::string drawn_by_hand(const std::string& profile, const std::string& stem);

}  // namespace flameprobe
