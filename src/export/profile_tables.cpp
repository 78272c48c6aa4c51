#include "export/profile_tables.hpp"

#include <algorithm>
#include <limits>

#include "base/binary_text.hpp"
#include "export/text.hpp"
#include "outside/counters.hpp"
#include "profile/names.hpp"
#include "profile/task_event.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

namespace {

bool is_code(MappingKind kind) {
    return kind == MappingKind::kernel || kind == MappingKind::file || kind == MappingKind::vdso ||
           kind == MappingKind::anonymous;
}

std::string file_of(const Mapping& mapping) {
    if (mapping.kind == MappingKind::kernel) return mapping.path.empty() ? "[kernel.kallsyms]" : mapping.path;
    if (mapping.kind == MappingKind::vdso) return "[vdso]";
    return mapping.path;
}

std::vector<std::size_t> ends_of(const AllEvents& events) {
    std::vector<std::size_t> ends;
    for (const AllEvents::Part& part : events.parts()) ends.push_back(part.end);
    return ends;
}

}  // namespace

ProfileTables::ProfileTables(const NamedProfile& profile, ThreadLabels threads)
    : ProfileTables(profile, threads, {profile.counts.size()}) {}

ProfileTables::ProfileTables(const AllEvents& events, ThreadLabels threads)
    : ProfileTables(events.tables(), threads, ends_of(events)) {}

ProfileTables::ProfileTables(const NamedProfile& profile, ThreadLabels threads, std::vector<std::size_t> event_ends)
    : profile_(profile),
      event_ends_(std::move(event_ends)),
      labels_(profile, threads),
      function_ids_(profile.functions.size()),
      chain_of_node_(profile.nodes.size()) {
    add_main_program();
    make_chains();
    make_samples();
}

void ProfileTables::make_chains() {
    for (NodeId node = 1; node < profile_.nodes.size(); ++node) {
        const auto [parent, frame] = profile_.nodes[node];
        const bool inlined_there =
            kind(node) == FrameKind::inlined && parent != 0 && kind(parent) != FrameKind::thread &&
            kind(parent) != FrameKind::scope &&
            profile_.frames[profile_.nodes[parent].frame].location == profile_.frames[frame].location;
        chain_of_node_[node] = chain_index_.child(chains_, inlined_there ? chain_of_node_[parent] : 0, frame);
    }
    location_of_chain_.resize(chains_.size());
}

// Equal stacks of several threads are one sample, unless their labels differ.
void ProfileTables::make_samples() {
    std::unordered_map<std::uint64_t, std::size_t> known;
    std::vector<std::uint64_t> weights;
    const auto add = [&](std::vector<Sample>& samples, Sample sample) {
        const auto key = std::uint64_t{sample.stack} << 32 | sample.labels;
        const auto [entry, is_new] = known.try_emplace(key, samples.size());
        if (is_new) return samples.push_back(std::move(sample));
        Sample& sum = samples[entry->second];
        sum.add(sample);
        for (std::size_t i = 0; i < sum.others.size(); ++i) sum.others[i].add(sample.others[i]);
    };
    std::vector<Sample> all;
    std::size_t event = 0;
    for (std::size_t at = 0; at < profile_.counts.size(); ++at) {
        while (at >= event_ends_[event]) ++event;
        const NamedCount& count = profile_.counts[at];
        if (count.weight == 0) continue;
        Sample sample{{}, intern_stack(count.node), labels_.intern(count.thread, scopes_), {}};
        sample.others.resize(event_ends_.size() - 1);
        (event == 0 ? sample : sample.others[event - 1]).add({count.weight, count.hits});
        if (weights.size() <= sample.labels) weights.resize(sample.labels + std::size_t{1});
        weights[sample.labels] = add_saturated(weights[sample.labels], count.weight);
        add(all, std::move(sample));
    }
    const std::vector<std::uint32_t> use = labels_.limit(weights);
    known.clear();
    for (Sample& sample : all) {
        sample.labels = use[sample.labels];
        add(samples_, std::move(sample));
    }
}

/// Leaves the sample's scopes in scopes_, innermost first. A stack that has only a thread or scopes becomes one frame
/// of that name.
std::uint32_t ProfileTables::intern_stack(NodeId leaf) {
    path_.clear();
    scopes_.clear();
    for (NodeId node = leaf; node != 0; node = profile_.nodes[node].parent) {
        if (kind(node) == FrameKind::thread) continue;
        if (kind(node) == FrameKind::scope) {
            scopes_.push_back(profile_.function_of(node));
            continue;
        }
        const std::uint32_t innermost = chain_of_node_[node];
        for (std::uint32_t at = innermost; chains_[at].parent != 0; at = chains_[at].parent)
            node = profile_.nodes[node].parent;
        path_.push_back(location_of(innermost));
    }
    if (path_.empty() && leaf != 0) path_.push_back(location_of(chain_of_node_[leaf]));
    std::uint32_t stack = 0;
    for (auto location = path_.rbegin(); location != path_.rend(); ++location)
        stack = stack_index_.child(stacks_, stack, *location);
    return stack;
}

void ProfileTables::stack(std::uint32_t id, std::vector<std::uint64_t>& locations) const {
    locations.clear();
    for (; id != 0; id = stacks_[id].parent) locations.push_back(stacks_[id].frame);
}

std::uint32_t ProfileTables::location_of(std::uint32_t chain) {
    std::uint32_t& id = location_of_chain_[chain];
    if (id != 0) return id;
    Location location;
    location.lines_begin = static_cast<std::uint32_t>(lines_.size());
    const NamedFrame* outermost = nullptr;
    for (std::uint32_t at = chain; at != 0; at = chains_[at].parent) {
        outermost = &profile_.frames[chains_[at].frame];
        if (!is_unnamed(*outermost)) lines_.push_back({function_of(outermost->function), outermost->line});
    }
    location.lines_end = static_cast<std::uint32_t>(lines_.size());
    location.mapping = mapping_of(*outermost);
    location.address = address_of(*outermost);
    if (location.lines_begin == location.lines_end) mappings_[location.mapping - 1].has_functions = false;
    locations_.push_back(location);
    return id = static_cast<std::uint32_t>(locations_.size());
}

/// Whether the frame is code without a name that a server could look up, by its file and address.
bool ProfileTables::is_unnamed(const NamedFrame& frame) const {
    if (frame.location >= profile_.locations.size()) return false;
    const MappingId mapping = profile_.locations[frame.location].mapping;
    return mapping < profile_.mappings.size() && profile_.mappings[mapping].kind == MappingKind::file &&
           is_stand_in(profile_.strings.view(profile_.functions[frame.function].name));
}

std::uint32_t ProfileTables::function_of(FunctionId function) {
    std::uint32_t& id = function_ids_[function];
    if (id == 0) {
        functions_.push_back(function);
        id = static_cast<std::uint32_t>(functions_.size());
    }
    return id;
}

void ProfileTables::add_main_program() {
    if (!profile_.has_run) return;
    const auto& all = profile_.mappings;
    const auto main = std::ranges::find_if(all, [&](const flameprobe::Mapping& mapping) {
        return mapping.kind == MappingKind::file && mapping.path == profile_.run.executable;
    });
    if (main != all.end())
        add_mapping(static_cast<MappingId>(main - all.begin()));
    else if (!profile_.run.executable.empty())
        add_file(profile_.run.executable);
}

std::uint32_t ProfileTables::mapping_of(const NamedFrame& frame) {
    if (frame.location < profile_.locations.size()) {
        const MappingId id = profile_.locations[frame.location].mapping;
        if (id < profile_.mappings.size() && is_code(profile_.mappings[id].kind)) return add_mapping(id);
        return 0;
    }
    const StringId module = profile_.functions[frame.function].module;
    return module == 0 ? 0 : add_file(std::string(profile_.strings.view(module)));
}

std::uint64_t ProfileTables::address_of(const NamedFrame& frame) const {
    if (frame.location >= profile_.locations.size()) return 0;
    const flameprobe::Location& location = profile_.locations[frame.location];
    if (location.mapping >= profile_.mappings.size()) return 0;
    const MappingKind kind = profile_.mappings[location.mapping].kind;
    // Notes and scopes have a number of ours in place of an address.
    return is_code(kind) || kind == MappingKind::unknown ? location.address : 0;
}

std::uint32_t ProfileTables::add_mapping(MappingId id) {
    const auto [entry, is_new] = mapping_by_id_.try_emplace(id, static_cast<std::uint32_t>(mappings_.size() + 1));
    if (is_new) {
        const flameprobe::Mapping& mapping = profile_.mappings[id];
        mappings_.push_back({one_line(file_of(mapping)), hex_text(mapping.build_id), mapping.start,
                             mapping.start + mapping.size, mapping.file_offset, true});
        mapping_by_file_.try_emplace(mapping.path, entry->second);
    }
    return entry->second;
}

std::uint32_t ProfileTables::add_file(const std::string& file) {
    const auto [entry, is_new] = mapping_by_file_.try_emplace(file, static_cast<std::uint32_t>(mappings_.size() + 1));
    if (is_new) mappings_.push_back({one_line(file), {}, 0, 0, 0, true});
    return entry->second;
}

namespace {

std::string type_of(const std::string& event) {
    if (event.empty() || event == "cpu" || event == "cpu-clock" || event == "task-clock") return "cpu";
    std::string type = event;
    std::ranges::replace(type, '-', '_');
    return type;
}

/// As Go and jemalloc call them.
ProfileValue allocation_value(const std::string& event) {
    const std::string what = event.starts_with(event_name::heap_end) ? "leaked"
                             : event.starts_with(event_name::heap)   ? "inuse"
                                                                     : "alloc";
    return event.ends_with("objects") ? ProfileValue{what + "_objects", "count"}
                                      : ProfileValue{what + "_space", "bytes"};
}

}  // namespace

std::uint64_t sampling_period_ns(const RunInfo& run) {
    if (run.period_ns == 1 && run.frequency_asked != 0) return 1'000'000'000 / run.frequency_asked;
    return std::max<std::uint64_t>(run.period_ns, 1);
}

ProfileValues values_of(const NamedProfile& profile) {
    if (!profile.has_run) return {{{"samples", "count"}}, "samples", "count", 1};
    const RunInfo& run = profile.run;
    const std::string type = type_of(run.event);
    if (weighs_nanoseconds(run)) {
        const ProfileValue time{type, "nanoseconds"};
        const std::uint64_t period = sampling_period_ns(run);
        if (counts_passed_time(run)) return {{time}, type, "nanoseconds", period};  // waits are not samples of a clock
        return {{{"samples", "count", true}, time}, type, "nanoseconds", period};
    }
    if (is_of_allocations(run.event)) {
        const ProfileValue value = allocation_value(run.event);
        // Of bytes between two samples; 1 where it is not known.
        const std::uint64_t mean = counter_value(profile.summary.counters, counter::allocation_mean).value_or(1);
        if (!counts_bytes(run)) return {{value}, "space", "bytes", mean};
        return {{{"samples", "count", true}, value}, "space", "bytes", mean};
    }
    if (run.event_kind == "software event") return {{{type, "count"}}, type, "count", 1};
    // Merged runs of different periods or events: only their samples can be added up.
    if (run.event_kind != "hardware counter") return {{{"samples", "count"}}, "samples", "count", 1};
    return {{{type, "samples"}}, type, "count", 0};
}

std::uint64_t amount(const ProfileValue& value, std::uint64_t weight, std::uint64_t hits) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    return std::min(value.is_hits ? hits : weight, most);
}

}  // namespace flameprobe
