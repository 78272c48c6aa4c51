// github.com/google/pprof/blob/main/proto/profile.proto. Fields may come in any order, so what is big (the samples)
// goes out as it is made and the tables that grow meanwhile follow.
#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/gzip.hpp"
#include "export/pprof_label.hpp"
#include "export/pprof_mappings.hpp"
#include "export/pprof_stacks.hpp"
#include "export/protobuf.hpp"
#include "export/text.hpp"
#include "export/writer.hpp"

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

/// string_table[0] is "", so that 0 can mean none.
class Strings {
public:
    std::uint64_t id(const std::string& text) {
        const auto [entry, is_new] = ids_.try_emplace(text, texts_.size());
        if (is_new) texts_.push_back(&entry->first);
        return entry->second;
    }
    const std::vector<const std::string*>& texts() const { return texts_; }

private:
    std::unordered_map<std::string, std::uint64_t> ids_{{"", 0}};
    std::vector<const std::string*> texts_{&ids_.begin()->first};
};

class PprofWriter {
public:
    PprofWriter(const NamedProfile& profile, const ByteSink& out)
        : profile_(profile), out_(out), stacks_(profile), mappings_(profile), has_function_(profile.functions.size()) {}

    void write() {
        head();
        for (const NamedCount& count : profile_.counts) sample(count);
        for (std::uint64_t id = 1; id < stacks_.size(); ++id)
            if (stacks_.used(id)) location(id);
        for (FunctionId id = 0; id < profile_.functions.size(); ++id)
            if (has_function_[id]) function(id);
        mappings();
        for (const std::string* text : strings_.texts()) {
            ProtoMessage message;
            message.text(field::string_table, *text);
            out_.write(message.bytes());
        }
        out_.finish();
    }

private:
    bool has_cpu_time() const { return profile_.has_run && profile_.run.period_ns > 0; }

    ProtoMessage value_type(const char* type, const char* unit) {
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

    void head();
    void comments(ProtoMessage& message);
    void sample(const NamedCount& count);
    void thread_labels(ThreadId thread);
    void label(const std::string& key, const std::string& text);
    void location(std::uint64_t id);
    void function(FunctionId id);
    void mappings();

    const NamedProfile& profile_;
    GzipStream out_;
    Strings strings_;
    PprofStacks stacks_;
    PprofMappings mappings_;
    std::vector<bool> has_function_;
    PprofStacks::Stack stack_;  // these three are kept for their memory
    std::vector<FrameId> frames_;
    ProtoMessage message_;
};

void PprofWriter::head() {
    put(field::sample_type, value_type("samples", "count"));
    ProtoMessage message;
    if (has_cpu_time()) {
        put(field::sample_type, value_type("cpu", "nanoseconds"));
        put(field::period_type, value_type("cpu", "nanoseconds"));
        message.number(field::period, profile_.run.period_ns);
        message.number(field::default_sample_type, strings_.id("cpu"));
    }
    if (profile_.has_run) {
        message.number(field::time, profile_.run.start_unix_ns);
        message.number(field::duration, profile_.summary.duration_ns);
        comments(message);
    }
    out_.write(message.bytes());
}

void PprofWriter::comments(ProtoMessage& message) {
    const RunInfo& run = profile_.run;
    const auto comment = [&](const std::string& text) { message.number(field::comment, strings_.id(one_line(text))); };
    comment("FlameProbe " + run.version);
    comment("command: " + run.command);
    comment("host: " + run.host + ", pid " + std::to_string(run.pid));
    comment("event: " + run.event + " (" + run.event_kind + "), engine " + run.engine + ", unwinder " + run.unwinder);
    comment("samples lost: " + std::to_string(profile_.summary.lost) +
            ", truncated: " + std::to_string(profile_.summary.truncated));
    for (const std::string& warning : profile_.warnings) comment("warning: " + warning);
}

void PprofWriter::sample(const NamedCount& count) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (count.weight == 0) return;
    stacks_.stack(count.node, stack_);
    message_.clear();
    message_.packed(1, stack_.locations);
    std::vector<std::uint64_t> values{std::min(count.weight, most)};
    if (has_cpu_time())  // values are what was consumed, not what was counted
        values.push_back(count.weight > most / profile_.run.period_ns ? most : count.weight * profile_.run.period_ns);
    message_.packed(2, values);
    thread_labels(count.thread);
    for (const FunctionId scope : stack_.scopes) {
        const std::string text = one_line(profile_.strings.view(profile_.functions[scope].name));
        const auto [key, value] = pprof_label(text);
        label(std::string(key), std::string(value));
    }
    put(field::sample, message_);
}

void PprofWriter::thread_labels(ThreadId thread) {
    if (thread >= profile_.threads.size()) return;
    const Thread& named = profile_.threads[thread];
    label("thread", one_line(named.name));
    if (named.tid == 0) return;  // merged threads have none
    ProtoMessage tid;
    tid.number(1, strings_.id("tid"));
    tid.number(3, named.tid);
    message_.message(3, tid);
}

void PprofWriter::label(const std::string& key, const std::string& text) {
    if (text.empty()) return;
    ProtoMessage message;
    message.number(1, strings_.id(key));
    message.number(2, strings_.id(text));
    message_.message(3, message);
}

void PprofWriter::location(std::uint64_t id) {
    stacks_.frames(id, frames_);
    const NamedFrame& outermost = profile_.frames[frames_.back()];
    message_.clear();
    message_.number(1, id);
    message_.number(2, mappings_.of(outermost));
    message_.number(3, mappings_.address_of(outermost));
    for (const FrameId frame : frames_) {
        has_function_[profile_.frames[frame].function] = true;
        ProtoMessage line;
        line.number(1, profile_.frames[frame].function + std::uint64_t{1});
        line.number(2, profile_.frames[frame].line);
        message_.message(4, line);
    }
    put(field::location, message_);
}

/// Without a system_name: pprof takes names that are equal to it for ones it still has to demangle, and then cuts their
/// template arguments and parameters off.
void PprofWriter::function(FunctionId id) {
    const Function& function = profile_.functions[id];
    message_.clear();
    message_.number(1, id + std::uint64_t{1});
    message_.number(2, strings_.id(plain_name(profile_.strings.view(function.name), function.kind)));
    message_.number(4, strings_.id(one_line(profile_.strings.view(function.file))));
    message_.number(5, function.line);
    put(field::function, message_);
}

/// All four flags: what could be named is named, and pprof must not try again with the files of another machine.
void PprofWriter::mappings() {
    std::uint64_t id = 0;
    for (const PprofMapping& mapping : mappings_.all()) {
        message_.clear();
        message_.number(1, ++id);
        message_.number(2, mapping.start);
        message_.number(3, mapping.limit);
        message_.number(4, mapping.file_offset);
        message_.number(5, strings_.id(mapping.file));
        message_.number(6, strings_.id(mapping.build_id));
        for (unsigned flag = 7; flag <= 10; ++flag) message_.number(flag, 1);
        put(field::mapping, message_);
    }
}

}  // namespace

void write_pprof(const NamedProfile& profile, const ByteSink& out) { PprofWriter(profile, out).write(); }

}  // namespace flameprobe
