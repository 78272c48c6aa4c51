#include "symbolize/load.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <tuple>
#include <unordered_map>

#include "outside/counters.hpp"
#include "outside/reader.hpp"
#include "symbolize/load_steps.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

namespace {

/// 512 MB of nodes. A program's profile has some millions after a day; a small hostile file could need any number, by
/// inlining.
constexpr std::size_t max_nodes = std::size_t{1} << 26;

/// Makes the path of nodes for each stack of a thread name, once.
class PathBuilder {
public:
    PathBuilder(const RawProfile& raw, LocationNames& names, NamedProfile& profile)
        : raw_(raw),
          names_(names),
          profile_(profile),
          only_waits_(profile.run.event == event_name::offcpu),
          node_of_(raw.stacks.size()) {}

    /// Starts with another thread name, whose stacks have other paths.
    void begin(FrameId thread) {
        for (const StackId id : touched_) node_of_[id] = 0;
        touched_.clear();
        remember(0, child(0, thread));
        preempted_ = 0;
    }
    /// nullopt, and no node is made, if there would be more than max_nodes.
    std::optional<NodeId> node(StackId stack) {
        if (only_waits_ && is_preemption(stack)) return preempted(stack);
        path_.clear();
        std::size_t more = 0;
        for (; node_of_[stack] == 0; stack = raw_.stacks[stack].parent) {
            path_.push_back(stack);
            more += frames(stack).size();
        }
        if (more > max_nodes - std::min(max_nodes, profile_.nodes.size())) return std::nullopt;
        NodeId node = node_of_[stack];
        for (auto id = path_.rbegin(); id != path_.rend(); ++id) {
            const bool held = raw_.is_holders(raw_.stacks[*id].parent);
            for (const FrameId frame : frames(*id)) node = child(node, held ? names_.held_frame(frame) : frame);
            remember(*id, node);
        }
        return node;
    }

private:
    /// Not of a lock's holder: for such a one its waiters do wait.
    bool is_preemption(StackId stack) const {
        if (stack == 0) return false;
        const StackNode& leaf = raw_.stacks[stack];
        const Mapping& mapping = raw_.mappings[raw_.locations[leaf.location].mapping];
        return mapping.kind == MappingKind::note && mapping.path == "[preempted]" && !raw_.is_holders(leaf.parent);
    }
    /// A thread that could run does not wait, at no place in the code: so this time is the thread's own box, or the
    /// thread itself where nothing has a name.
    NodeId preempted(StackId stack) {
        if (frames(stack).empty()) return node_of_[0];
        if (preempted_ == 0) preempted_ = child(node_of_[0], frames(stack).front());
        return preempted_;
    }
    std::span<const FrameId> frames(StackId stack) const { return names_.frames(raw_.stacks[stack].location); }
    NodeId child(NodeId parent, FrameId frame) {
        profile_.nodes.push_back({parent, frame});
        return static_cast<NodeId>(profile_.nodes.size() - 1);
    }
    void remember(StackId stack, NodeId node) {
        node_of_[stack] = node;
        touched_.push_back(stack);
    }

    const RawProfile& raw_;
    LocationNames& names_;
    NamedProfile& profile_;
    bool only_waits_;
    NodeId preempted_ = 0;  // of the thread name
    std::vector<NodeId> node_of_;
    std::vector<StackId> touched_;
    std::vector<StackId> path_;
};

std::uint64_t key_of(const RawCount& count) { return std::uint64_t{count.thread} << 32 | count.stack; }

/// Whether more was freed than allocated, as in a part of a divided profile: what was alive then is not known.
bool frees_more(const std::vector<TimedWeight>& changes) {
    std::int64_t alive = 0;
    for (std::size_t at = 0; at < changes.size(); ++at) {
        const std::uint64_t before =
            at > 0 && changes[at].count == changes[at - 1].count ? static_cast<std::uint64_t>(alive) : 0;
        alive = static_cast<std::int64_t>(before + changes[at].weight);
        if (alive < 0) return true;
    }
    return false;
}

/// `keys`: for each of profile.counts its key in raw.times. Times whose key is not among them belong to counts that
/// were not kept, and are dropped.
void add_times(RawProfile& raw, const std::vector<std::uint64_t>& keys, NamedProfile& profile) {
    std::unordered_map<std::uint64_t, std::uint32_t> count_of;
    for (std::uint32_t at = 0; at < keys.size(); ++at) count_of.emplace(keys[at], at);
    for (const TimeBins::Entry& entry : raw.times.entries()) {
        const auto found = count_of.find(entry.key);
        if (found != count_of.end()) profile.times.push_back({found->second, entry.bin, entry.weight, entry.hits});
    }
    std::ranges::sort(profile.times, {}, [](const TimedWeight& one) { return std::tie(one.count, one.bin); });
    if (counts_living(profile.run) && frees_more(profile.times)) profile.times.clear();
    profile.bin_ns = profile.times.empty() ? 0 : raw.times.bin_ns();
}

bool build_paths(RawProfile& raw, const std::vector<RawCount>& counts, LocationNames& names, NamedProfile& profile) {
    std::map<FrameId, std::vector<const RawCount*>> by_thread_name;
    for (const RawCount& count : counts) {
        by_thread_name[names.thread_frame(raw.threads[count.thread])].push_back(&count);
    }
    profile.nodes.assign(1, {});
    PathBuilder paths(raw, names, profile);
    std::vector<std::uint64_t> keys;
    for (const auto& [thread_name, its_counts] : by_thread_name) {
        paths.begin(thread_name);
        for (const RawCount* count : its_counts) {
            const auto node = paths.node(count->stack);
            if (!node) return false;
            profile.counts.push_back({*node, count->thread, count->weight, count->hits, count->age});
            keys.push_back(key_of(*count));
        }
    }
    if (!raw.times.entries().empty()) add_times(raw, keys, profile);
    profile.has_ages = raw.has_ages();
    profile.alive = raw.alive_over_time(profile.alive_stretch_ns);
    return true;
}

NamedProfile take_facts(RawProfile& raw) {
    NamedProfile profile;
    profile.has_run = raw.run_info.has_value();
    if (profile.has_run) {
        profile.run = *raw.run_info;
        const auto program = std::ranges::find(raw.mappings, profile.run.executable, &Mapping::path);
        add_build_facts(profile.run, program == raw.mappings.end() ? nullptr : &*program);
        raw.events.describe(profile.run);
        profile.events = raw.events.names();
        profile.shown_events = raw.events.shown();
    }
    profile.summary = raw.last_summary;
    profile.work = raw.work;
    profile.requests = raw.requests;
    profile.threads = raw.threads;
    profile.mappings = raw.mappings;
    profile.locations = raw.locations;
    return profile;
}

SymbolizeOptions options_for(const RawProfile& raw, const NamedProfile& profile, SymbolizeOptions options,
                             std::vector<std::string>& notes) {
    options.notes = &notes;
    if (!profile.has_run) return options;
    if (options.spare_brief_runs && profile.shown_events.size() <= 1 && !raw.death_record)
        options.most_debug_bytes_in_all = debug_bytes_worth(profile.summary);
    // Symbol tables alone take a millisecond or so, and a thread a third of one.
    if (options.most_debug_bytes_in_all != ~std::uint64_t{0}) options.workers = 1;
    return with_provenance(std::move(options), profile.run);
}

/// Counters of locks get the names that their addresses have.
void name_locks(NamedProfile& profile, const LocationNames& names, const std::vector<bool>& needed) {
    for (LocationId id = 0; id < profile.locations.size(); ++id) {
        const Location& location = profile.locations[id];
        const Mapping& mapping = profile.mappings[location.mapping];
        if (!needed[id] || mapping.kind != MappingKind::note || !is_holder_note(mapping.path)) continue;
        const Function& holder = profile.functions[profile.frames[names.frames(id).front()].function];
        const std::string name(lock_name(profile.strings.view(holder.file)));
        if (name != lock_address(location.address))
            rename_lock(profile.summary.counters, lock_address(location.address), name);
    }
}

/// Makes start and duration those of the window, from which rates follow and by which engines file a profile. Pauses of
/// sampling count as part of the run, since the file does not say when they were.
void select_window(const RawProfile& raw, const SampleFilter& filter, NamedProfile& profile) {
    if (!profile.has_run || (!filter.from_ns && !filter.to_ns)) return;
    const std::uint64_t whole = std::max(raw.last_summary.duration_ns, raw.last_sample_ns);
    const std::uint64_t begin = std::min(filter.from_ns.value_or(0), whole);
    const std::uint64_t end = std::min(filter.to_ns.value_or(whole), whole);
    const std::uint64_t inside = end - std::min(begin, end);
    if (!filter.others) profile.run.start_unix_ns += begin;
    profile.summary.duration_ns = filter.others ? whole - inside : inside;
}

std::string ignored_warning(const std::string& name, const ReadOutcome& outcome) {
    return name + ": the last " + std::to_string(outcome.bytes_ignored) +
           " bytes are not used: " + outcome.why_ignored + " (normal if the program was killed or is still running)";
}

Result<NamedProfile> load(ByteSource& source, const SampleFilter& filter, const SymbolizeOptions& options,
                          SymbolCache* cache) {
    RawProfile raw(filter, true);
    auto outcome = read_profile(source, raw);
    if (!outcome) return outcome.error();
    if (outcome->blocks == 0) {
        return Error{
            source.name() + ": holds no whole block: " +
            (outcome->why_ignored.empty() ? "the program ended before anything was written" : outcome->why_ignored)};
    }
    if (!raw.events.is_there()) {
        std::string there;
        for (const std::string& name : raw.events.names()) there += (there.empty() ? "" : ", ") + name;
        return Error{source.name() + ": holds no event '" + filter.event + "': it has " + there};
    }
    raw.choose_requests();
    split_by_time(raw, raw.run_info ? with_provenance(options, *raw.run_info) : options);
    const std::vector<LocationId> last_stack = add_last_stack(raw);
    NamedProfile profile = take_facts(raw);
    if (outcome->bytes_ignored > 0) profile.warnings.push_back(ignored_warning(source.name(), *outcome));
    const std::vector<RawCount> counts = raw.counts();
    if (!raw.events.is_own()) count_event(raw, counts, profile.summary);
    if (filter.idle) profile.summary.counters.erase(std::string(counter::never_woke));  // they are shown
    LocationNames names(raw, profile);
    std::vector<bool> needed = locations_of(raw, counts);
    if (options.names_wanted && !options.names_wanted(profile)) needed.assign(needed.size(), false);
    for (const LocationId id : last_stack) needed[id] = true;
    std::vector<std::string> notes;
    names.name(needed, options_for(raw, profile, options, notes), cache);
    name_locks(profile, names, needed);
    for (const std::string& note : notes) profile.summary.counters[std::string(counter::note) + note] = 1;
    if (raw.death_record) profile.warnings.push_back(describe_death(raw, profile, names, last_stack));
    if (!build_paths(raw, counts, names, profile)) {
        return Error{source.name() + ": its stacks have more than " + std::to_string(max_nodes) +
                     " frames; select a part of it with --thread, --scope or --from and --to"};
    }
    select_window(raw, filter, profile);  // last: finding names needs the start of the whole run
    return profile;
}

}  // namespace

std::uint64_t debug_bytes_worth(const Summary& summary) {
    constexpr std::uint64_t few_samples = 100, always = std::uint64_t{4} << 20, ns_a_byte = 7;
    if (summary.hits >= few_samples) return ~std::uint64_t{0};
    return std::max(always, summary.process_cpu_ns / (2 * ns_a_byte));
}

Result<NamedProfile> load_profile(ByteSource& source, const SampleFilter& filter, const SymbolizeOptions& options,
                                  SymbolCache* cache) try {
    return load(source, filter, options, cache);
} catch (const std::bad_alloc&) {
    return Error{source.name() + ": there is not enough memory to load it; flameprobe-render can, later or elsewhere"};
} catch (const std::exception& exception) {
    return Error{source.name() + ": " + exception.what()};
}

Result<NamedProfile> load_profile(const std::string& path, const SampleFilter& filter,
                                  const SymbolizeOptions& options) {
    auto source = ByteSource::open(path);
    if (!source) return source.error();
    return load_profile(*source, filter, options);
}

}  // namespace flameprobe
