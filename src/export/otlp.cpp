// OTLP profiles, opentelemetry/proto/profiles/v1development as of opentelemetry-proto 1.10 (Collector 0.156). The
// format is not stable yet, so all of its field numbers and names are here.
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/paths.hpp"
#include "export/otlp_encoding.hpp"
#include "export/output.hpp"
#include "export/profile_tables.hpp"
#include "export/text.hpp"

namespace flameprobe {

namespace {

/// Index 0 of every table is an empty entry that means none, so that the tables' ids are the indices.
template <class Encoding>
class OtlpWriter {
public:
    OtlpWriter(const NamedProfile& profile, const ServerOptions& options)
        : profile_(profile), options_(options), tables_(profile, options.threads), values_(values_of(profile)) {
        attributes_.emplace_back();
    }

    std::string write() {
        Encoding data;
        data.messages({1, "resourceProfiles"}, {resource_profiles()});
        data.message({2, "dictionary"}, dictionary());
        return data.bytes();
    }

private:
    static Encoding any_value(const std::string& text) {
        Encoding any;
        any.text({1, "stringValue"}, text);
        return any;
    }
    static Encoding any_value(std::uint64_t number) {
        Encoding any;
        any.chosen({3, "intValue"}, number);
        return any;
    }
    template <class Value>
    static Encoding key_value(std::string_view key, const Value& value) {
        Encoding pair;
        pair.text({1, "key"}, key);
        pair.message({2, "value"}, any_value(value));
        return pair;
    }
    /// Adds an attribute, and returns its index in the table.
    template <class Value>
    std::uint64_t attribute(const std::string& key, const Value& value) {
        Encoding entry;
        entry.integer({1, "keyStrindex"}, strings_.id(key));
        entry.message({2, "value"}, any_value(value));
        const auto [known, is_new] = known_attributes_.try_emplace(entry.bytes(), attributes_.size());
        if (is_new) attributes_.push_back(std::move(entry));
        return known->second;
    }
    Encoding value_type(const std::string& type, const std::string& unit) {
        Encoding message;
        message.integer({1, "typeStrindex"}, strings_.id(type));
        message.integer({2, "unitStrindex"}, strings_.id(unit));
        return message;
    }

    Encoding resource_profiles() {
        Encoding scope, scope_profiles, resource_profiles;
        scope.text({1, "name"}, "flameprobe");
        scope.text({2, "version"}, FLAMEPROBE_VERSION);
        scope_profiles.message({1, "scope"}, scope);
        scope_profiles.messages({2, "profiles"}, {profile()});
        resource_profiles.message({1, "resource"}, resource());
        resource_profiles.messages({2, "scopeProfiles"}, {scope_profiles});
        return resource_profiles;
    }
    /// By OpenTelemetry's semantic conventions. The command line is left out: it may hold what a server must not show.
    Encoding resource() {
        std::map<std::string, std::string> texts;
        const RunInfo& run = profile_.run;
        if (profile_.has_run) {
            texts["service.name"] = base_name(run.executable);
            texts["process.executable.path"] = run.executable;
            texts["host.name"] = run.host.substr(0, run.host.find(','));
        }
        for (const RunFact& label : run.labels)
            texts[label.name == "service_name" ? "service.name" : label.name] = label.value;
        for (const auto& [key, value] : options_.labels) texts[key == "service_name" ? "service.name" : key] = value;
        std::vector<Encoding> pairs;
        for (const auto& [key, value] : texts)
            if (!value.empty()) pairs.push_back(key_value(one_line(key), one_line(value)));
        if (run.pid != 0) pairs.push_back(key_value("process.pid", std::uint64_t{run.pid}));
        Encoding message;
        message.messages({1, "attributes"}, pairs);
        return message;
    }
    Encoding profile() {
        const ProfileValue& value = values_.of_sample.back();
        Encoding message;
        message.message({1, "sampleType"}, value_type(value.type, value.unit));
        message.messages({2, "samples"}, samples());
        if (profile_.has_run) {
            message.fixed({3, "timeUnixNano"}, profile_.run.start_unix_ns);
            message.large({4, "durationNano"}, profile_.summary.duration_ns);
        }
        message.message({5, "periodType"}, value_type(values_.period_type, values_.period_unit));
        message.large({6, "period"}, values_.period);
        message.identifier({7, "profileId"}, profile_id());
        if (!profile_.has_run) return message;
        message.integers({11, "attributeIndices"},
                         {attribute("flameprobe.samples.lost", lost_samples(profile_.run, profile_.summary)),
                          attribute("flameprobe.samples.truncated", profile_.summary.truncated_hits),
                          attribute("flameprobe.event", one_line(profile_.run.event))});
        return message;
    }
    std::vector<Encoding> samples() {
        std::vector<Numbers> attributes_of_set;
        for (std::uint32_t set = 0; set < tables_.labels().size(); ++set)
            attributes_of_set.push_back(label_attributes(set));
        std::vector<Encoding> samples;
        for (const ProfileTables::Sample& sample : tables_.samples()) {
            Encoding message;
            message.integer({1, "stackIndex"}, stack_index(sample.stack));
            message.integers({2, "attributeIndices"}, attributes_of_set[sample.labels]);
            message.larges({4, "values"}, {amount(values_.of_sample.back(), sample.weight, sample.hits)});
            samples.push_back(std::move(message));
        }
        return samples;
    }
    /// The table has only the stacks of samples, not their prefixes.
    std::uint64_t stack_index(std::uint32_t stack) {
        const auto [known, is_new] = known_stacks_.try_emplace(stack, stacks_.size() + 1);
        if (is_new) stacks_.push_back(stack);
        return known->second;
    }
    Numbers label_attributes(std::uint32_t set) {
        Numbers indices;
        for (const SampleLabel& label : tables_.labels().set(set)) {
            const std::string key = label.key == "thread" ? "thread.name"
                                    : label.key == "tid"  ? "thread.id"
                                                          : label.key;
            indices.push_back(label.text.empty() ? attribute(key, label.number) : attribute(key, label.text));
        }
        return indices;
    }
    /// Equal for equal profiles, so that a server can recognise a profile that is sent again after a broken connection.
    std::string profile_id() const {
        const RunInfo& run = profile_.run;
        std::uint64_t weight = 0;  // part of the id, since the pieces of a divided profile need different ones
        for (const NamedCount& count : profile_.counts) weight = mix(weight, mix(count.node, count.weight));
        std::uint64_t half = mix(hash_text(run.host + run.executable), mix(run.start_unix_ns, run.pid));
        std::string bytes;
        for (unsigned i = 0; i < 16; ++i) {
            if (i == 8) half = mix(half, mix(weight, profile_.summary.duration_ns));
            bytes += static_cast<char>(half >> (8 * (i % 8)));
        }
        bytes[0] = static_cast<char>(bytes[0] | 1);  // all zeros would be none
        return bytes;
    }
    Encoding dictionary() {
        Encoding message;
        message.messages({1, "mappingTable"}, mappings());
        message.messages({2, "locationTable"}, locations());
        message.messages({3, "functionTable"}, functions());
        message.messages({4, "linkTable"}, {Encoding()});
        message.texts({5, "stringTable"}, strings_.texts());  // last: the other tables add strings
        message.messages({6, "attributeTable"}, attributes_);
        message.messages({7, "stackTable"}, stacks());
        return message;
    }
    std::vector<Encoding> mappings() {
        std::vector<Encoding> table(1);
        for (const ProfileTables::Mapping& mapping : tables_.mappings()) {
            Encoding& message = table.emplace_back();
            message.large({1, "memoryStart"}, mapping.start);
            message.large({2, "memoryLimit"}, mapping.limit);
            message.large({3, "fileOffset"}, mapping.file_offset);
            message.integer({4, "filenameStrindex"}, strings_.id(mapping.file));
            if (!mapping.build_id.empty())
                message.integers({5, "attributeIndices"},
                                 {attribute("process.executable.build_id.gnu", mapping.build_id)});
        }
        return table;
    }
    std::vector<Encoding> locations() {
        std::vector<Encoding> table(1);
        for (const ProfileTables::Location& location : tables_.locations()) {
            Encoding& message = table.emplace_back();
            message.integer({1, "mappingIndex"}, location.mapping);
            message.large({2, "address"}, location.address);
            std::vector<Encoding> lines;
            bool kernel = false;
            for (const ProfileTables::Line& line : tables_.lines(location)) {
                Encoding& entry = lines.emplace_back();
                entry.integer({1, "functionIndex"}, line.function);
                entry.large({2, "line"}, line.line);
                kernel |= profile_.functions[tables_.functions()[line.function - 1]].kind == FrameKind::kernel;
            }
            if (!lines.empty()) message.messages({3, "lines"}, lines);
            message.integers({4, "attributeIndices"},
                             {attribute("profile.frame.type", std::string(kernel ? "kernel" : "native"))});
        }
        return table;
    }
    std::vector<Encoding> functions() {
        std::vector<Encoding> table(1);
        for (const FunctionId id : tables_.functions()) {
            const Function& function = profile_.functions[id];
            Encoding& message = table.emplace_back();
            message.integer({1, "nameStrindex"},
                            strings_.id(plain_name(profile_.strings.view(function.name), function.kind)));
            message.integer({3, "filenameStrindex"}, strings_.id(one_line(profile_.strings.view(function.file))));
            message.large({4, "startLine"}, function.line);
        }
        return table;
    }
    /// Leaf first.
    std::vector<Encoding> stacks() {
        std::vector<Encoding> table(1);
        Numbers locations;
        for (const std::uint32_t id : stacks_) {
            tables_.stack(id, locations);
            Encoding& message = table.emplace_back();
            message.integers({1, "locationIndices"}, locations);
        }
        return table;
    }

    const NamedProfile& profile_;
    const ServerOptions& options_;
    const ProfileTables tables_;
    const ProfileValues values_;
    NumberedStrings strings_;
    std::vector<Encoding> attributes_;
    std::map<std::string, std::uint64_t> known_attributes_;
    std::vector<std::uint32_t> stacks_;
    std::unordered_map<std::uint32_t, std::uint64_t> known_stacks_;
};

}  // namespace

void write_otlp(const NamedProfile& profile, const ServerOptions& options, const ByteSink& out) {
    out(OtlpWriter<ProtoEncoding>(profile, options).write());
}

void write_otlp_json(const NamedProfile& profile, const ServerOptions& options, const ByteSink& out) {
    out(OtlpWriter<JsonEncoding>(profile, options).write());
}

}  // namespace flameprobe
