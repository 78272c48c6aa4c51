// The labels of samples in pprof and OTLP: keys and values, few enough for servers that make a time series of each
// combination.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Whether samples have their thread as a label, of which a program with 200 threads would make 200 series in a server.
enum class ThreadLabels : std::uint8_t {
    none,
    folded,  // by name, with every run of digits replaced by `*`: worker-*
    exact,   // by name and tid
};

struct SampleLabel {
    std::string key;
    std::string text;          // empty: the value is `number`
    std::uint64_t number = 0;  // never 0 where `text` is empty

    auto operator<=>(const SampleLabel&) const = default;
};

/// "tenant=acme" is tenant: acme, whether it was made as a pair or is a literal; any other text is scope: text. Keys
/// become names that Prometheus accepts for labels ([a-zA-Z_][a-zA-Z0-9_]*): other characters become `_`. Keys that
/// FlameProbe or a server gives a meaning (thread, tid, scope, service_name, what begins with two underscores) are not
/// taken.
std::pair<std::string, std::string_view> label_of_scope(std::string_view scope);

/// Every distinct set of labels once. A key occurs once in a set: nested scopes without a key of their own are one
/// value, "outer > inner".
class SampleLabels {
public:
    /// Beyond so many distinct sets the lightest ones lose their values: see limit().
    static constexpr std::size_t most_sets = 200;
    /// The most bytes of a value; longer ones are cut.
    static constexpr std::size_t most_bytes = 200;

    SampleLabels(const NamedProfile& profile, ThreadLabels threads) : profile_(profile), threads_(threads) {}

    /// The set of a sample whose open scopes are `scopes`, innermost first. Set 0 is the empty one.
    std::uint32_t intern(ThreadId thread, const std::vector<FunctionId>& scopes);
    /// Takes the weight of each set, and returns the set to use in its place: the same, but if there are more than
    /// most_sets, for each of the lightest one whose values are all "[other]".
    std::vector<std::uint32_t> limit(const std::vector<std::uint64_t>& weights);
    /// Sets that limit() took the values of.
    std::size_t gathered() const { return gathered_; }

    std::size_t size() const { return sets_.size(); }
    const std::vector<SampleLabel>& set(std::uint32_t id) const { return *sets_[id]; }

private:
    using Values = std::map<std::string, SampleLabel>;

    std::uint32_t intern(const Values& values);
    void add_thread(ThreadId thread, Values& values) const;

    const NamedProfile& profile_;
    const ThreadLabels threads_;
    std::map<std::pair<ThreadId, std::vector<FunctionId>>, std::uint32_t> known_;
    std::map<std::vector<SampleLabel>, std::uint32_t> ids_;
    std::vector<const std::vector<SampleLabel>*> sets_;
    std::size_t gathered_ = 0;
};

}  // namespace flameprobe
