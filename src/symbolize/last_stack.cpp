#include <algorithm>

#include "symbolize/load_steps.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t most_frames = 256;
constexpr std::size_t frames_told = 8;

bool holds(const Mapping& mapping, std::uint64_t address) {
    const bool code = mapping.kind == MappingKind::file || mapping.kind == MappingKind::vdso ||
                      mapping.kind == MappingKind::anonymous;
    return code && address >= mapping.start && address - mapping.start < mapping.size;
}

/// The last mapping at the address; a mapping without a file if there was none.
MappingId mapping_of(RawProfile& raw, std::uint64_t address) {
    for (std::size_t id = raw.mappings.size(); id-- > 0;) {
        if (holds(raw.mappings[id], address)) return static_cast<MappingId>(id);
    }
    for (std::size_t id = raw.mappings.size(); id-- > 0;) {
        if (raw.mappings[id].kind == MappingKind::unknown) return static_cast<MappingId>(id);
    }
    raw.mappings.emplace_back();
    return static_cast<MappingId>(raw.mappings.size() - 1);
}

std::string signal_text(int number) {
    const char* name = sigabbrev_np(number);
    if (name == nullptr) return "signal " + std::to_string(number);
    return "SIG" + std::string(name) + " (" + sigdescr_np(number) + ")";
}

}  // namespace

std::vector<LocationId> add_last_stack(RawProfile& raw) {
    std::vector<LocationId> stack;
    if (!raw.death_record) return stack;
    for (const std::uint64_t address : raw.death_record->addresses) {
        if (stack.size() == most_frames) break;
        const Location location{mapping_of(raw, address), address};
        const auto known = std::find(raw.locations.begin(), raw.locations.end(), location);  // may have stored names
        stack.push_back(static_cast<LocationId>(known - raw.locations.begin()));
        if (known == raw.locations.end()) raw.locations.push_back(location);
    }
    return stack;
}

std::string describe_death(const RawProfile& raw, const NamedProfile& profile, const LocationNames& names,
                           const std::vector<LocationId>& last_stack) {
    const Death& death = *raw.death_record;
    std::string text = "the program was ended by " + signal_text(static_cast<int>(death.signal));
    std::string thread = std::to_string(death.tid);
    for (const Thread& known : raw.threads) {
        if (known.tid == death.tid && !known.name.empty()) thread = known.name;
    }
    text += " in thread " + thread;
    std::size_t told = 0;
    for (const LocationId location : last_stack) {
        const auto frames = names.frames(location);
        for (auto frame = frames.rbegin(); frame != frames.rend() && told < frames_told; ++frame, ++told) {
            text += (told == 0 ? ", in " : told == 1 ? ", called by " : ", ") + std::string(profile.name(*frame));
        }
    }
    return told == frames_told ? text + ", ..." : text;
}

}  // namespace flameprobe
