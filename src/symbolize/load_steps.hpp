// What load_profile() does to a profile, a step each, and what other programs want of that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/named_profile.hpp"
#include "symbolize/raw_profile.hpp"
#include "symbolize/symbol_cache.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// The frames that each code location stands for.
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

    struct Range {
        std::uint32_t begin = 0, end = 0;
    };

    /// A name for want of a name has the program's as the user typed it; none is glibc's own beside the public one.
    std::string shown(std::string name, const Mapping& mapping) const;

    const RawProfile& raw_;
    NamedProfile& profile_;
    std::string called_;  // the program, if that is not its file's name
    std::vector<FrameId> frames_;
    std::vector<Range> ranges_;  // by location
    FunctionIds functions_;
    std::unordered_map<FunctionId, FrameId> thread_frames_;
    std::unordered_map<FrameId, FrameId> held_frames_;
};

/// `options`, with `same_boot`, `same_place`, `root` and `pid` set from the run where the caller left them open.
SymbolizeOptions with_provenance(SymbolizeOptions options, const RunInfo& run);

/// Counts the samples that RawProfile has kept apart. Just-in-time compilers use memory again, so what lay at an
/// address depends on when it was sampled. Where dumps of just-in-time compilers say that an address held several
/// functions, its location is split. Each function gets a mapping of its own, which begins when it came there. Stacks
/// through it are those of the function that lay there when the sample was taken.
void split_by_time(RawProfile& raw, const SymbolizeOptions& options);

// Where the program was when a fatal signal ended it.

/// Adds the addresses of the death record to the profile's locations, leaf first, so that they get names like others.
/// Empty if there is no such record.
std::vector<LocationId> add_last_stack(RawProfile& raw);

/// "the program was ended by SIGSEGV (Segmentation fault) in thread worker, in parse, called by handle, main"
std::string describe_death(const RawProfile& raw, const NamedProfile& profile, const LocationNames& names,
                           const std::vector<LocationId>& last_stack);

// How the sampled program was built, as its file says.

/// Adds "compilers" and "optimisation flags" to the facts of a run that has none of them, behind what is known of its
/// directory. `executable`: where the program was mapped; null if no sample was in it. Gives whether anything was
/// added: the file must be the one that ran, so not known for a program that was rebuilt, or ran on another machine.
bool add_build_facts(RunInfo& run, const Mapping* executable);

}  // namespace flameprobe
