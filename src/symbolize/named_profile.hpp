// A profile with names: the input of all writers, and what a folded file is read into.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/id_table.hpp"
#include "profile/durations.hpp"
#include "profile/model.hpp"

namespace flameprobe {

using StringId = std::uint32_t;

/// Holds every distinct string once; views stay valid as long as the table. Id 0 is the empty string.
class StringTable {
public:
    StringTable() { intern(""); }
    // A copy's views would point into the original.
    StringTable(const StringTable&) = delete;
    StringTable& operator=(const StringTable&) = delete;
    StringTable(StringTable&&) = default;
    StringTable& operator=(StringTable&&) = default;

    StringId intern(std::string_view text) {
        if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
        const auto id = static_cast<StringId>(texts_.size());
        ids_.emplace(texts_.emplace_back(text), id);
        return id;
    }
    std::string_view view(StringId id) const { return texts_[id]; }
    std::size_t size() const { return texts_.size(); }

private:
    std::deque<std::string> texts_;  // which do not move
    std::unordered_map<std::string_view, StringId> ids_;
};

using FunctionId = std::uint32_t;
using FrameId = std::uint32_t;
using NodeId = std::uint32_t;  // 0 is the root of all stacks

enum class FrameKind : std::uint8_t {
    user,     // a function of the program or a library
    inlined,  // inlined into the frame towards the root
    kernel,
    scope,     // FlameProbe::Scope
    note,      // [truncated], [lost], ...
    thread,    // the first frame of a stack: the thread's name
    held = 7,  // of the thread that holds what the sampled one waits for (6: pages have it for what is no frame)
};

/// A function, scope, note or thread, as a box of a flame graph shows it. Equal ones have one id in a NamedProfile.
struct Function {
    StringId name = 0;       // demangled; never with a suffix such as _[k]: that comes from `kind` when text is written
    StringId file = 0;       // source file where it is defined, 0 (the empty string) if unknown
    std::uint32_t line = 0;  // of its declaration, 0 if unknown
    StringId module = 0;     // path of the ELF file, 0 if none
    FrameKind kind = FrameKind::user;

    bool operator==(const Function&) const = default;
};

struct FunctionHash {
    std::size_t operator()(const Function& function) const {
        const std::uint64_t line_and_kind =
            std::uint64_t{function.line} << 8 | static_cast<std::uint8_t>(function.kind);
        return mix(hash_pair(function.name, function.file), mix(function.module, line_and_kind));
    }
};

/// A function at one line or address of its code.
struct NamedFrame {
    FunctionId function = 0;
    std::uint32_t line = 0;             // the line being executed, or of the call; 0 if unknown
    LocationId location = no_location;  // the code address it came from; inlined frames share it with their caller
    static constexpr LocationId no_location = ~LocationId{0};

    bool operator==(const NamedFrame&) const = default;
};

struct NamedNode {
    NodeId parent = 0;
    FrameId frame = 0;
};

/// Finds the nodes of a trie by parent and frame, and makes those that are missing.
class NodeIndex {
public:
    NodeId child(std::vector<NamedNode>& nodes, NodeId parent, FrameId frame) {
        const auto next = static_cast<NodeId>(nodes.size());
        const NodeId id = find(nodes, parent, frame, next);
        if (id == next) nodes.push_back({parent, frame});
        return id;
    }
    /// For a node that was made otherwise. Of two with one parent and frame the first is found.
    void add(const std::vector<NamedNode>& nodes, NodeId id) { find(nodes, nodes[id].parent, nodes[id].frame, id); }

private:
    NodeId find(const std::vector<NamedNode>& nodes, NodeId parent, FrameId frame, NodeId next) {
        return index_.find_or_claim(parent, frame, next,
                                    [&](NodeId id) { return std::pair(nodes[id].parent, nodes[id].frame); });
    }

    TrieIndex index_;
};

/// Walks from the root, which is neither entered nor left, and visits children by id. Not recursion: stacks may be
/// 10,000 frames deep.
template <class Enter, class Leave>
void walk_nodes(const std::vector<NamedNode>& nodes, Enter enter, Leave leave) {
    std::vector<NodeId> child(nodes.size()), sibling(nodes.size());  // the next of each to be visited
    for (auto id = static_cast<NodeId>(nodes.size()); id-- > 1;)
        sibling[id] = std::exchange(child[nodes[id].parent], id);
    for (NodeId at = 0; at < nodes.size();) {
        if (const NodeId next = child[at]; next != 0) {
            child[at] = sibling[next];
            enter(at = next);
        } else if (at == 0) {
            return;
        } else {
            leave(at);
            at = nodes[at].parent;
        }
    }
}

/// Of what is alive at the end of a heap: since when, before that end.
struct Age {
    std::uint64_t mean_ns = 0, oldest_ns = 0;

    /// `weight`: what it is the age of; `more`: that of another.
    void add(std::uint64_t weight, const Age& other, std::uint64_t more) {
        const double part =
            more == 0 ? 0 : static_cast<double>(more) / (static_cast<double>(weight) + static_cast<double>(more));
        const double mean = static_cast<double>(mean_ns) * (1 - part) + static_cast<double>(other.mean_ns) * part;
        mean_ns = static_cast<std::uint64_t>(mean);
        oldest_ns = std::max(oldest_ns, other.oldest_ns);
    }
};

/// Samples with the same stack and thread, added up.
struct NamedCount {
    NodeId node = 0;  // of the leaf
    ThreadId thread = 0;
    std::uint64_t weight = 0;
    std::uint64_t hits = 0;  // see Sample
    Age age = {};            // if the profile has_ages
};

/// The part of counts[count] that was sampled in the stretch of time `bin`.
struct TimedWeight {
    std::uint32_t count = 0;
    std::uint32_t bin = 0;
    std::uint64_t weight = 0;
    std::uint64_t hits = 0;
};

/// A file whose code ran, and which build of it.
struct FileBuild {
    std::string path;
    std::string build_id;  // raw bytes, empty if none

    bool operator==(const FileBuild&) const = default;
};

/// One process's part of a run.
struct ProcessShare {
    std::string name;
    std::uint32_t pid = 0;
    std::uint64_t time_ns = 0;  // its weight; where that is no time, its CPU time
    std::uint64_t weight = 0;
    std::uint64_t samples = 0;  // hits
};

struct NamedProfile {
    StringTable strings;  // id 0 is the empty string
    std::vector<Function> functions;
    std::vector<NamedFrame> frames;
    std::vector<NamedNode> nodes;  // a node's parent comes before it; nodes[0] is the root and has no frame
    std::vector<NamedCount> counts;
    bool has_ages = false;  // known for all counts

    std::uint32_t merged_runs = 0;     // the number of runs that were merged; 0: a profile as it was recorded
    std::string processes;             // of one run, for titles: "make and its children, 5 processes"; empty: one
    bool process_first = false;        // each stack begins with its process; processes are shown heaviest first
    std::vector<ProcessShare> shares;  // of these processes, the heaviest first
    /// When counts were sampled, sorted by count, then bin: for a single .fprobe, and only on request. Code that
    /// removes counts updates or clears it.
    std::vector<TimedWeight> times;
    std::uint64_t bin_ns = 0;  // a bin begins at bin * bin_ns after the run's start
    /// Of a heap, likewise: how much was alive at most in each stretch of time.
    std::vector<std::uint64_t> alive;
    std::uint64_t alive_stretch_ns = 0;

    // What follows is empty when the input was a folded file. A merged profile has what tools/render/merge_facts.cpp
    // adds up: a fact that is new here belongs there too.
    bool has_run = false;
    RunInfo run;                            // `run.event` is the event of `counts`
    std::vector<std::string> events;        // all that the file has: cpu, offcpu, wall, ...
    std::vector<std::string> shown_events;  // those of them that were asked for when it was sampled
    Summary summary;
    std::map<std::string, std::uint64_t> work;  // units that the program counted, by name
    RequestDurations requests;                  // by label: how long they took
    std::vector<Thread> threads;
    std::vector<Mapping> mappings;
    std::vector<Location> locations;
    std::vector<FileBuild> merged_files;  // of the profiles that it was merged from, whose mappings mean nothing here
    std::map<std::string, std::string> programs;  // likewise: their executables, and what these were called
    std::vector<std::string> warnings;  // one line each, for a person: a file that could not be read, was replaced, ...

    /// The run's other events, for formats that hold several: each with the same run and tables of its own.
    std::vector<NamedProfile> others;

    FunctionId function_of(NodeId node) const { return frames[nodes[node].frame].function; }
    const Function& function(NodeId node) const { return functions[function_of(node)]; }
    std::string_view name(FrameId frame) const { return strings.view(functions[frames[frame].function].name); }
};

/// Adds functions to a profile; equal ones have one id.
class FunctionIds {
public:
    explicit FunctionIds(NamedProfile& profile) : profile_(profile) {}

    FunctionId add(const Function& function) {
        const auto next = static_cast<FunctionId>(profile_.functions.size());
        const auto [known, is_new] = known_.try_emplace(function, next);
        if (is_new) profile_.functions.push_back(function);
        return known->second;
    }
    /// One of another profile, which has these strings.
    FunctionId add(Function function, const StringTable& strings) {
        for (StringId* const text : {&function.name, &function.file, &function.module})
            *text = profile_.strings.intern(strings.view(*text));
        return add(function);
    }

private:
    NamedProfile& profile_;
    std::unordered_map<Function, FunctionId, FunctionHash> known_;
};

/// Which files the code came from, and which builds of them. Each build once: first the files of the profile's
/// mappings, then those of the profiles that it was merged from.
inline std::vector<FileBuild> file_builds(const NamedProfile& profile) {
    std::vector<FileBuild> list;
    std::set<std::pair<std::string_view, std::string_view>> known;
    const auto add = [&](const std::string& path, const std::string& build_id) {
        if (known.emplace(path, build_id).second) list.push_back({path, build_id});
    };
    for (const Mapping& mapping : profile.mappings)
        if (mapping.kind == MappingKind::file) add(mapping.path, mapping.build_id);
    for (const FileBuild& file : profile.merged_files) add(file.path, file.build_id);
    return list;
}

}  // namespace flameprobe
