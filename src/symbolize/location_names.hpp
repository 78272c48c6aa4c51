// The frames that each code location stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "symbolize/named_profile.hpp"
#include "symbolize/raw_profile.hpp"
#include "symbolize/symbol_cache.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

class LocationNames {
public:
    LocationNames(const RawProfile& raw, NamedProfile& profile);

    /// Names those of the locations that `needed` marks: from the profile's own archive, from `cache` (if
    /// given), else through `symbolize`.
    void name(const std::vector<bool>& needed, const SymbolizeOptions& options, SymbolCache* cache);
    /// Outermost first; empty for a location that was not needed.
    std::span<const FrameId> frames(LocationId id) const;
    FrameId thread_frame(const Thread& thread);
    /// The frame as one of the thread that holds what the sampled one waits for.
    FrameId held_frame(FrameId frame);

private:
    std::optional<std::vector<Symbol>> known(LocationId id, const SymbolizeOptions& options,
                                             const SymbolCache* cache) const;
    void add(LocationId id, const std::vector<Symbol>& symbols);
    FunctionId function(const Function& function);

    struct Range {
        std::uint32_t begin = 0, end = 0;
    };

    /// A name for want of a name has the program's as the user typed it.
    std::string shown(const std::string& name, const Mapping& mapping) const;

    const RawProfile& raw_;
    NamedProfile& profile_;
    std::string called_;  // the program, if that is not its file's name
    std::vector<FrameId> frames_;
    std::vector<Range> ranges_;  // by location
    std::unordered_map<Function, FunctionId, FunctionHash> functions_;
    std::unordered_map<FunctionId, FrameId> thread_frames_;
    std::unordered_map<FrameId, FrameId> held_frames_;
};

}  // namespace flameprobe
