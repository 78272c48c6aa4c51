// A profile as pprof and OTLP have it, and what its numbers are called there. An address with the chain of functions
// inlined there is one location, threads and scopes are labels, and every table's ids run from 1 without a gap, in the
// order in which they are first used.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/all_events.hpp"
#include "export/sample_labels.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Ids count from 1, as 0 means none; entry i of a vector has the id i + 1.
class ProfileTables {
public:
    struct Mapping {
        std::string file;
        std::string build_id;                                 // hexadecimal
        std::uint64_t start = 0, limit = 0, file_offset = 0;  // 0 where it is not known
        bool has_functions = true;  // false: some of its code has no name, unless the server has its symbols
    };
    struct Line {
        std::uint32_t function = 0;  // an id
        std::uint32_t line = 0;
    };
    struct Location {
        std::uint32_t mapping = 0;  // an id, 0 for notes and for code that is in no file
        std::uint64_t address = 0;
        std::uint32_t lines_begin = 0, lines_end = 0;
    };
    struct Sample : Amount {              // of the first event
        std::uint32_t stack = 0;          // an id
        std::uint32_t labels = 0;         // of SampleLabels
        std::vector<Amount> others = {};  // of the further ones
    };

    ProfileTables(const NamedProfile& profile, ThreadLabels threads);
    /// Tables for all events; values of those after the first are in Sample::others.
    ProfileTables(const AllEvents& events, ThreadLabels threads);

    /// One per stack and set of labels.
    const std::vector<Sample>& samples() const { return samples_; }
    const SampleLabels& labels() const { return labels_; }
    /// The first is the main program's, which pprof takes for the profile's name.
    const std::vector<Mapping>& mappings() const { return mappings_; }
    const std::vector<Location>& locations() const { return locations_; }
    const std::vector<FunctionId>& functions() const { return functions_; }
    /// Innermost first. Empty for code without a name: with a line, a server would take all such code of a file for
    /// one function.
    std::span<const Line> lines(const Location& location) const {
        return std::span(lines_).subspan(location.lines_begin, location.lines_end - location.lines_begin);
    }
    /// Ids of its locations, leaf first.
    void stack(std::uint32_t id, std::vector<std::uint64_t>& locations) const;

private:
    ProfileTables(const NamedProfile& profile, ThreadLabels threads, std::vector<std::size_t> event_ends);
    FrameKind kind(NodeId node) const { return profile_.function(node).kind; }
    void make_chains();
    std::uint32_t intern_stack(NodeId leaf);
    std::uint32_t location_of(std::uint32_t chain);
    void make_samples();
    bool is_unnamed(const NamedFrame& frame) const;
    std::uint32_t function_of(FunctionId function);
    void add_main_program();
    std::uint32_t mapping_of(const NamedFrame& frame);
    std::uint64_t address_of(const NamedFrame& frame) const;
    std::uint32_t add_mapping(MappingId id);
    std::uint32_t add_file(const std::string& file);

    const NamedProfile& profile_;
    std::vector<std::size_t> event_ends_;  // in profile_.counts
    SampleLabels labels_;
    std::vector<Sample> samples_;
    std::vector<Mapping> mappings_;
    std::unordered_map<MappingId, std::uint32_t> mapping_by_id_;
    std::unordered_map<std::string, std::uint32_t> mapping_by_file_;  // for frames that lost their address when merged
    std::vector<Location> locations_;
    std::vector<Line> lines_;
    std::vector<FunctionId> functions_;
    std::vector<std::uint32_t> function_ids_;  // by FunctionId, 0: not used yet
    std::vector<NamedNode> chains_{1};         // parent: what a frame is inlined into; 0: not inlined
    std::vector<std::uint32_t> chain_of_node_;
    std::vector<std::uint32_t> location_of_chain_;  // an id, 0: not used yet
    NodeIndex chain_index_;
    std::vector<NamedNode> stacks_{1};  // frame: a location's id
    NodeIndex stack_index_;
    std::vector<std::uint32_t> path_;  // members to reuse their memory, as is the next
    std::vector<FunctionId> scopes_;
};

// What a sample's numbers mean, in the words of pprof and OTLP.

struct ProfileValue {
    std::string type;      // "cpu"; never with `-`, which Pyroscope refuses
    std::string unit;      // "nanoseconds"
    bool is_hits = false;  // the value is the number of samples, whatever they weigh
};

struct ProfileValues {
    std::vector<ProfileValue> of_sample;  // the last is the one to show
    std::string period_type, period_unit;
    std::uint64_t period = 0;  // 0: it varies
};

/// For a clock: samples (count) and their time in nanoseconds. For a software event: the number of events. For a
/// hardware counter, whose period the kernel adjusts, and without a run: the number of samples.
ProfileValues values_of(const NamedProfile& profile);

/// CPU time between two samples in the mean; of merged runs with different periods, and of waits, that of the frequency
/// asked for. 1 if it is not known, or if the event is no clock.
std::uint64_t sampling_period_ns(const RunInfo& run);

/// The value of `hits` samples that weigh `weight` together, at most what a signed 64-bit number holds.
std::uint64_t amount(const ProfileValue& value, std::uint64_t weight, std::uint64_t hits);

}  // namespace flameprobe
