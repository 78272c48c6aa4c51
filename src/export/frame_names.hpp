// From a frame's text to its id in a profile.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Interns the frames of folded text: one frame without line or address for each name and kind. Frames that the
/// profile already has with neither line nor address are found again; functions are, whatever their file.
class FrameNames {
public:
    explicit FrameNames(NamedProfile& profile);
    /// `text` with its suffix, not empty.
    FrameId intern(std::string_view text);

private:
    struct Slot {
        std::uint32_t tag = 0;
        std::uint32_t frame_and_one = 0;  // 0: free
    };

    bool is(FrameId frame, std::string_view name, FrameKind kind) const;
    void insert(std::uint64_t hash, FrameId frame);
    void grow();
    FunctionId function(std::string_view name, FrameKind kind);

    NamedProfile& profile_;
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    std::unordered_map<std::uint64_t, FunctionId> functions_;  // by name and kind
};

}  // namespace flameprobe
