// From a frame's text to its id in a profile.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/id_table.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Interns the frames of folded text: one frame without line or address for each name and kind. Reuses the profile's
/// frames without line and address, and its functions, whatever their file.
class FrameNames {
public:
    explicit FrameNames(NamedProfile& profile);
    /// `text` with its suffix, not empty.
    FrameId intern(std::string_view text);

private:
    bool is(FrameId frame, std::string_view name, FrameKind kind) const;
    FunctionId function(std::string_view name, FrameKind kind);

    NamedProfile& profile_;
    IdTable ids_;                                              // by name and kind
    std::unordered_map<std::uint64_t, FunctionId> functions_;  // by name and kind
};

}  // namespace flameprobe
