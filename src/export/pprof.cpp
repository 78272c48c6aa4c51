// github.com/google/pprof/blob/main/proto/profile.proto, with the ids that Parca asks for (1 to n, in order) and the
// labels and types that Pyroscope takes.
#include <string>
#include <vector>

#include "export/gzip.hpp"
#include "export/output.hpp"
#include "export/profile_tables.hpp"
#include "export/protobuf.hpp"
#include "export/text.hpp"

namespace flameprobe {

namespace {

namespace field {
enum Profile {
    sample_type = 1,
    sample,
    mapping,
    location,
    function,
    string_table,
    time = 9,
    duration,
    period_type,
    period,
    comment,
    default_sample_type
};
}

class PprofWriter {
public:
    PprofWriter(const NamedProfile& profile, const ServerOptions& options, const ByteSink& out)
        : profile_(profile),
          options_(options),
          out_(out),
          events_(profile),
          tables_(events_, options.threads),
          values_(values_of(profile)) {
        for (const NamedProfile& other : profile.others) values_of_others_.push_back(values_of(other).of_sample.back());
    }

    void write() {
        head();
        for (const ProfileTables::Sample& entry : tables_.samples()) sample(entry);
        mappings();
        locations();
        functions();
        for (const std::string* text : strings_.texts()) {
            ProtoMessage message;
            message.text(field::string_table, *text);
            out_.write(message.bytes());
        }
        out_.finish();
    }

private:
    ProtoMessage value_type(const std::string& type, const std::string& unit) {
        ProtoMessage message;
        message.number(1, strings_.id(type));
        message.number(2, strings_.id(unit));
        return message;
    }
    void put(unsigned which, const ProtoMessage& message) {
        ProtoMessage outer;
        outer.message(which, message);
        out_.write(outer.bytes());
    }

    void head() {
        for (const ProfileValue& value : values_.of_sample) put(field::sample_type, value_type(value.type, value.unit));
        for (const ProfileValue& value : values_of_others_) put(field::sample_type, value_type(value.type, value.unit));
        put(field::period_type, value_type(values_.period_type, values_.period_unit));
        ProtoMessage message;
        message.number(field::period, values_.period);
        message.number(field::default_sample_type, strings_.id(values_.of_sample.back().type));
        if (profile_.has_run) {
            message.number(field::time, profile_.run.start_unix_ns);
            message.number(field::duration, profile_.summary.duration_ns);
            comments(message);
        }
        out_.write(message.bytes());
    }
    void comments(ProtoMessage& message) {
        const RunInfo& run = profile_.run;
        const auto comment = [&](const std::string& text) {
            message.number(field::comment, strings_.id(one_line(text)));
        };
        comment("FlameProbe " + run.version);
        comment(options_.command ? "command: " + run.command : "executable: " + run.executable);
        comment("host: " + run.host + ", pid " + std::to_string(run.pid));
        comment("event: " + run.event + " (" + run.event_kind + "), engine " + run.engine + ", unwinder " +
                run.unwinder);
        comment("samples lost: " + std::to_string(lost_samples(profile_.run, profile_.summary)) +
                ", truncated: " + std::to_string(profile_.summary.truncated_hits));
        if (options_.labels.empty())
            for (const RunFact& label : run.labels) comment("label: " + label.name + "=" + label.value);
        for (const auto& [key, value] : options_.labels) comment("label: " + key + "=" + value);
        if (tables_.labels().gathered() > 0) {
            comment("labels: of " + std::to_string(tables_.labels().gathered()) +
                    " rare combinations of scopes the values are [other]");
        }
        for (const std::string& warning : profile_.warnings) comment("warning: " + warning);
    }
    void sample(const ProfileTables::Sample& entry) {
        message_.clear();
        tables_.stack(entry.stack, stack_);
        message_.packed(1, stack_);
        std::vector<std::uint64_t> values;
        for (const ProfileValue& value : values_.of_sample) values.push_back(amount(value, entry.weight, entry.hits));
        for (std::size_t i = 0; i < values_of_others_.size(); ++i)
            values.push_back(amount(values_of_others_[i], entry.others[i].weight, entry.others[i].hits));
        message_.packed(2, values);
        for (const SampleLabel& label : tables_.labels().set(entry.labels)) {
            ProtoMessage message;
            message.number(1, strings_.id(label.key));
            message.number(2, strings_.id(label.text));
            message.number(3, label.number);
            message_.message(3, message);
        }
        put(field::sample, message_);
    }
    /// Sets all four has_ flags where all code has names, so that pprof does not look names up in the files of another
    /// machine.
    void mappings() {
        std::uint64_t id = 0;
        for (const ProfileTables::Mapping& mapping : tables_.mappings()) {
            message_.clear();
            message_.number(1, ++id);
            message_.number(2, mapping.start);
            message_.number(3, mapping.limit);
            message_.number(4, mapping.file_offset);
            message_.number(5, strings_.id(mapping.file));
            message_.number(6, strings_.id(mapping.build_id));
            for (unsigned flag = 7; flag <= 10; ++flag) message_.number(flag, mapping.has_functions ? 1 : 0);
            put(field::mapping, message_);
        }
    }
    void locations() {
        std::uint64_t id = 0;
        for (const ProfileTables::Location& location : tables_.locations()) {
            message_.clear();
            message_.number(1, ++id);
            message_.number(2, location.mapping);
            message_.number(3, location.address);
            for (const ProfileTables::Line& entry : tables_.lines(location)) {
                ProtoMessage line;
                line.number(1, entry.function);
                line.number(2, entry.line);
                message_.message(4, line);
            }
            put(field::location, message_);
        }
    }
    /// Without a system_name: pprof demangles a name that equals its system_name, and removes template arguments and
    /// parameters.
    void functions() {
        std::uint64_t id = 0;
        for (const FunctionId known : tables_.functions()) {
            const NamedProfile& tables = events_.tables();
            const Function& function = tables.functions[known];
            message_.clear();
            message_.number(1, ++id);
            message_.number(2, strings_.id(plain_name(tables.strings.view(function.name), function.kind)));
            message_.number(4, strings_.id(one_line(tables.strings.view(function.file))));
            message_.number(5, function.line);
            put(field::function, message_);
        }
    }

    const NamedProfile& profile_;
    const ServerOptions& options_;
    GzipStream out_;
    NumberedStrings strings_;
    const AllEvents events_;
    const ProfileTables tables_;
    const ProfileValues values_;
    std::vector<ProfileValue> values_of_others_;
    std::vector<std::uint64_t> stack_;  // members to reuse their memory, as is the next
    ProtoMessage message_;
};

}  // namespace

void write_pprof(const NamedProfile& profile, const ServerOptions& options, const ByteSink& out) {
    PprofWriter(profile, options, out).write();
}

}  // namespace flameprobe
