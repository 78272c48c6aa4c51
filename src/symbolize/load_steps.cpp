#include "symbolize/load_steps.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/proc.hpp"
#include "symbolize/perf_map.hpp"

namespace flameprobe {

namespace {

class Splitter {
public:
    Splitter(RawProfile& raw, const PerfMap& map, std::uint64_t start_ns)
        : raw_(raw), map_(map), start_ns_(start_ns), changes_(raw.stacks.size()) {
        for (StackId id = 1; id < raw.stacks.size(); ++id)
            changes_[id] = changes_[raw.stacks[id].parent] || !places(raw.stacks[id].location).empty();
    }

    StackId at(StackId stack, std::uint64_t time_ns) {
        path_.clear();
        for (; changes_[stack]; stack = raw_.stacks[stack].parent) path_.push_back(raw_.stacks[stack].location);
        for (; !path_.empty(); path_.pop_back()) stack = child(stack, location(path_.back(), time_ns));
        return stack;
    }

private:
    struct Place {
        std::uint64_t since_ns = 0;  // after the run's start
        LocationId location = 0;
    };

    /// What lay at a location one after the other; empty unless that is more than one function.
    const std::vector<Place>& places(LocationId id) {
        const auto [known, is_new] = places_.try_emplace(id);
        const Location location = raw_.locations[id];
        if (!is_new || raw_.mappings[location.mapping].kind != MappingKind::anonymous) return known->second;
        const auto held = map_.all_at(location.address);
        const auto differs = [&](const PerfMap::Entry* entry) { return map_.name(*entry) != map_.name(*held.front()); };
        if (!std::ranges::any_of(held, differs) || raw_.archived.contains(id)) return known->second;
        for (const PerfMap::Entry* entry : held) {
            // Of those that came before the run only the last was there.
            if (entry->time_ns <= start_ns_) known->second.clear();
            known->second.push_back({since(*entry), split(location, *entry)});
        }
        return known->second;
    }
    std::uint64_t since(const PerfMap::Entry& entry) const { return std::max(entry.time_ns, start_ns_) - start_ns_; }
    LocationId split(const Location& location, const PerfMap::Entry& entry) {
        const auto [known, is_new] =
            mappings_.try_emplace({location.mapping, &entry}, static_cast<MappingId>(raw_.mappings.size()));
        if (is_new) {
            Mapping mapping = raw_.mappings[location.mapping];
            mapping.start = entry.start;
            mapping.size = entry.end - entry.start;
            mapping.since_ns = since(entry);
            raw_.mappings.push_back(std::move(mapping));
        }
        raw_.locations.push_back({known->second, location.address});
        return static_cast<LocationId>(raw_.locations.size() - 1);
    }

    LocationId location(LocationId id, std::uint64_t time_ns) {
        const auto& list = places(id);
        if (list.empty()) return id;
        const auto after = std::ranges::upper_bound(list, time_ns, {}, &Place::since_ns);
        return after == list.begin() ? after->location : std::prev(after)->location;
    }
    StackId child(StackId parent, LocationId location) {
        const auto [known, is_new] =
            children_.try_emplace({parent, location}, static_cast<StackId>(raw_.stacks.size()));
        if (is_new) raw_.stacks.push_back({parent, location});
        return known->second;
    }

    RawProfile& raw_;
    const PerfMap& map_;
    const std::uint64_t start_ns_;
    std::unordered_map<LocationId, std::vector<Place>> places_;
    std::map<std::pair<MappingId, const PerfMap::Entry*>, MappingId> mappings_;
    std::map<std::pair<StackId, LocationId>, StackId> children_;
    std::vector<bool> changes_;  // by stack, of those in the file: some of its locations are split
    std::vector<LocationId> path_;
};

}  // namespace

void split_by_time(RawProfile& raw, const SymbolizeOptions& options) {
    const auto samples = std::exchange(raw.apart, {});
    if (samples.empty()) return;
    std::optional<PerfMap> map;
    std::optional<Splitter> splitter;
    if (options.same_boot && options.same_place && options.start_monotonic_ns != 0) {
        std::vector<std::string> told_later;  // whoever looks up the names warns of the same files
        map = PerfMap::of_process(0, jit_dumps_in(raw.mappings), told_later);
        splitter.emplace(raw, *map, options.start_monotonic_ns);
    }
    for (const auto& sample : samples) {
        const auto stack = static_cast<StackId>(sample.key);
        const StackId split = splitter ? splitter->at(stack, sample.time_ns) : stack;
        raw.add((sample.key >> 32) << 32 | split, sample.time_ns, sample.weight, sample.hits);
    }
}

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

/// The run started on this machine since it was booted. Addresses of the kernel and the vdso differ from boot to boot,
/// so names looked up in another boot would be wrong.
bool is_of_this_boot(const RunInfo& run) {
    utsname system{};
    if (run.host.empty() || uname(&system) != 0) return false;
    const bool same_host = run.host.starts_with(system.nodename) && run.host.ends_with(system.release);
    const auto now = static_cast<std::int64_t>(read_clock(CLOCK_REALTIME));
    const std::int64_t booted = now - static_cast<std::int64_t>(read_clock(CLOCK_BOOTTIME));
    const auto started = static_cast<std::int64_t>(run.start_unix_ns);
    return same_host && started >= booted && started <= now;
}

/// Code that a process had compiled before it forked has its names in that one's map only.
bool has_perf_map(std::uint32_t pid) {
    struct stat status {};
    return pid > 1 && stat(("/tmp/perf-" + std::to_string(pid) + ".map").c_str(), &status) == 0;
}

/// /tmp/perf-PID.map was written after the run's start, and so not by an earlier process with the same pid.
bool has_own_perf_map(const RunInfo& run) {
    struct stat status {};
    if (stat(("/tmp/perf-" + std::to_string(run.pid) + ".map").c_str(), &status) != 0) return false;
    // File times are those of the last tick, so a map may seem older than the start of the run.
    return ns_of(status.st_mtim) + ns_per_second >= run.start_unix_ns;
}

}  // namespace

std::vector<LocationId> add_last_stack(RawProfile& raw) {
    std::vector<LocationId> stack;
    if (!raw.death_record) return stack;
    for (const std::uint64_t address : raw.death_record->addresses) {
        if (stack.size() == most_frames) break;
        const Location location{mapping_of(raw, address), address};
        const auto known = std::ranges::find(raw.locations, location);  // may have stored names
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

SymbolizeOptions with_provenance(SymbolizeOptions options, const RunInfo& run) {
    const std::string here = place_of("/proc/self");
    const bool elsewhere = options.paths_by_place && !run.place.empty() && run.place != here;
    options.same_place = options.same_place && !elsewhere;
    if (elsewhere && options.root_of) options.root = options.root_of(run);
    options.start_monotonic_ns = run.start_monotonic_ns;
    options.same_boot = options.same_boot || is_of_this_boot(run) || same_boot(run.place, here);
    if (options.pid == 0 && options.same_boot && !elsewhere)
        options.pid = has_own_perf_map(run) ? run.pid : has_perf_map(run.parent_pid) ? run.parent_pid : 0;
    return options;
}

}  // namespace flameprobe
