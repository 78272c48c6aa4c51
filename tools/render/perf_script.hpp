// The text of `perf script`, as folded stacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

/// Whether the text begins as perf script's: "comm 4711 [000] 12.345678: 1000 cycles:u:".
bool is_perf_script(std::string_view head);

/// Turns lines into folded ones, a sample at a time: the thread's name, frames from the root, count 1.
class PerfScript {
public:
    /// A line without its end; what is finished is appended to `folded`.
    void line(std::string_view text, std::string& folded);
    void finish(std::string& folded);
    /// Samples of other events than the first, which are left out.
    std::uint64_t of_other_events() const { return others_; }
    const std::string& event() const { return event_; }
    /// Lines that should begin a sample and do not: what they would have begun is left out.
    std::uint64_t unread() const { return unread_; }

private:
    void begin(std::string_view thread, std::string_view event, std::string_view frame);

    bool in_sample_ = false, wanted_ = false;
    std::string thread_, event_;
    std::vector<std::string> frames_;  // from the leaf, with their suffixes
    std::uint64_t others_ = 0, unread_ = 0;
};

}  // namespace flameprobe
