// The Firefox Profiler's processed format, version 66 (docs-developer/CHANGELOG-formats.md in its repository): readers
// upgrade older versions and refuse newer ones, so the version is raised only when something newer is needed.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/paths.hpp"
#include "export/all_events.hpp"
#include "export/firefox_tables.hpp"
#include "export/json_stream.hpp"
#include "export/output.hpp"
#include "export/text.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t processed_version = 66;
constexpr std::uint64_t gecko_version = 24;  // of the unprocessed format: required, but not read

struct Category {
    const char* name;
    const char* color;
};
// One must be grey; subcategory 0 is the category itself.
constexpr Category categories[] = {
    {"Other", "grey"}, {"User", "yellow"}, {"Kernel", "orange"}, {"Scope", "green"}, {"FlameProbe", "darkgrey"}};
constexpr std::uint64_t inlined_subcategory = 1;

std::uint64_t category_of(FrameKind kind) {
    constexpr std::pair<FrameKind, std::uint64_t> others[] = {
        {FrameKind::kernel, 2}, {FrameKind::scope, 3}, {FrameKind::note, 4}, {FrameKind::thread, 0}};
    const auto* const other = std::ranges::find(others, kind, &std::pair<FrameKind, std::uint64_t>::first);
    return other == std::end(others) ? 1 : other->second;
}

class FirefoxWriter {
public:
    FirefoxWriter(const AllEvents& events, const ByteSink& out)
        : profile_(events.tables()),
          files_(profile_, strings_),
          funcs_(profile_),
          threads_(samples_by_thread(events)),
          json_(out) {}

    void write() {
        json_.begin_object();
        meta();
        json_.key("libs");
        files_.write_libs(json_);
        json_.key("shared").begin_object();
        stack_table();
        frame_table();
        func_table();
        json_.key("resourceTable");
        files_.write_resource_table(json_);
        json_.key("sources");
        files_.write_sources(json_);
        empty_table("nativeSymbols", {"libIndex", "address", "name", "functionSize"});
        empty_table("sourceLocationTable", {"source", "line", "column"});
        json_.key("stringArray").array(strings_.texts(), [this](const std::string* text) { json_.text(*text); });
        json_.end_object();
        json_.key("threads").array(threads_, [this](const ThreadSamples& samples) { thread(samples); });
        json_.end_object();
        json_.finish();
    }

private:
    std::string product() const {
        return profile_.has_run ? std::string(base_name(profile_.run.executable)) : "folded stacks";
    }

    void meta() {
        const auto busiest = busiest_thread(threads_);
        json_.key("meta").begin_object();
        const bool time = weighs_nanoseconds(profile_.run);
        json_.key("interval").real(time ? static_cast<double>(profile_.run.period_ns) / 1e6 : 1);
        json_.key("startTime").real(static_cast<double>(profile_.run.start_unix_ns / 1000) / 1e3);
        json_.key("processType").number(0).key("stackwalk").number(1);
        json_.key("product").text(product());
        json_.key("importedFrom").text("FlameProbe " FLAMEPROBE_VERSION);
        json_.key("version").number(gecko_version).key("preprocessedProfileVersion").number(processed_version);
        json_.key("symbolicated").boolean(true).key("symbolicationNotSupported").boolean(true);
        json_.key("usesOnlyOneStackType").boolean(true).key("sourceCodeIsNotOnSearchfox").boolean(true);
        json_.key("markerSchema").begin_array().end_array();
        json_.key("sampleUnits").begin_object();
        json_.key("time").text("ms").key("eventDelay").text("ms").key("threadCPUDelta").text("ns").end_object();
        json_.key("categories").array(categories, [this](const Category& category) {
            json_.begin_object().key("name").text(category.name).key("color").text(category.color);
            json_.key("subcategories").begin_array().text("Other");
            if (category.name == categories[1].name) json_.text("Inlined");
            json_.end_array().end_object();
        });
        json_.key("initialSelectedThreads").begin_array().signed_number(busiest - threads_.begin()).end_array();
        if (profile_.has_run) run_facts();
        json_.end_object();
    }
    void run_facts() {
        const RunInfo& run = profile_.run;
        json_.key("arguments").text(run.command);
        const auto entry = [this](const char* label, const std::string& value) {
            json_.begin_object().key("label").text(label);
            json_.key("format").text("string").key("value").text(value).end_object();
        };
        json_.key("extra").begin_array().begin_object().key("label").text("FlameProbe").key("entries").begin_array();
        entry("Time axis", "CPU time, one stack after the other: not when they ran");
        entry("Host", run.host);
        entry("Event", run.event + " (" + run.event_kind + ")");
        entry("Engine", run.engine);
        entry("Unwinder", run.unwinder);
        entry("Samples lost", std::to_string(lost_samples(profile_.run, profile_.summary)));
        entry("Samples truncated", std::to_string(profile_.summary.truncated_hits));
        json_.end_array().end_object().end_array();
    }
    /// Parents before children, each given as the distance back to its parent, 0 for roots. Threads are left out.
    void stack_table() {
        std::vector<NodeId> nodes;
        stack_of_node_.resize(profile_.nodes.size());
        for (NodeId node = 1; node < profile_.nodes.size(); ++node) {
            if (profile_.function(node).kind == FrameKind::thread) continue;
            nodes.push_back(node);
            stack_of_node_[node] = static_cast<std::uint32_t>(nodes.size());
        }
        json_.key("stackTable").begin_object().key("length").number(nodes.size());
        json_.key("frame").array(nodes, [this](NodeId node) { json_.number(profile_.nodes[node].frame); });
        json_.key("prefixOffset").array(nodes, [this](NodeId node) {
            const std::uint32_t parent = stack_of_node_[profile_.nodes[node].parent];
            json_.number(parent == 0 ? 0 : stack_of_node_[node] - parent);
        });
        json_.end_object();
        inline_depth_.resize(profile_.frames.size());
        for (const NodeId node : nodes) {
            const NodeId parent = profile_.nodes[node].parent;
            if (profile_.function(node).kind == FrameKind::inlined && parent != 0)
                inline_depth_[profile_.nodes[node].frame] = inline_depth_[profile_.nodes[parent].frame] + 1;
        }
    }
    /// Without addresses, which are for symbol servers that have the files.
    void frame_table() {
        const auto& frames = profile_.frames;
        const auto nulls = [this] { json_.null(); };
        const auto kind = [this](const NamedFrame& frame) { return profile_.functions[frame.function].kind; };
        constexpr std::uint32_t deepest = 255;  // the column has one byte a frame
        json_.key("frameTable").begin_object().key("length").number(frames.size());
        json_.key("address").repeat(frames.size(), [this] { json_.signed_number(-1); });
        json_.key("inlineDepth").array(inline_depth_, [&](std::uint32_t depth) {
            json_.number(std::min(depth, deepest));
        });
        json_.key("category").array(frames, [&](const NamedFrame& frame) { json_.number(category_of(kind(frame))); });
        json_.key("subcategory").array(frames, [&](const NamedFrame& frame) {
            json_.number(kind(frame) == FrameKind::inlined ? inlined_subcategory : 0);
        });
        json_.key("func").array(frames,
                                [this](const NamedFrame& frame) { json_.number(funcs_.of_function[frame.function]); });
        json_.key("nativeSymbol").repeat(frames.size(), nulls);
        json_.key("innerWindowID").repeat(frames.size(), [this] { json_.number(0); });
        json_.key("line").array(frames, [this](const NamedFrame& frame) { json_.number_unless_0(frame.line); });
        json_.key("column").repeat(frames.size(), nulls).key("originalLocation").repeat(frames.size(), nulls);
        json_.end_object();
    }
    void func_table() {
        const auto& functions = funcs_.all;
        const auto nulls = [this] { json_.null(); };
        const auto falses = [this] { json_.boolean(false); };
        json_.key("funcTable").begin_object().key("length").number(functions.size());
        json_.key("name").array(functions, [this](const Function& function) {
            json_.number(strings_.id(plain_name(profile_.strings.view(function.name), function.kind)));
        });
        json_.key("isJS").repeat(functions.size(), falses).key("relevantForJS").repeat(functions.size(), falses);
        json_.key("resource").array(functions, [this](const Function& function) {
            const auto library = files_.library(function);
            json_.signed_number(library ? static_cast<std::int64_t>(*library) : -1);
        });
        json_.key("source").array(functions,
                                  [this](const Function& function) { json_.number_if(files_.source(function)); });
        json_.key("lineNumber").array(functions, [this](const Function& function) {
            json_.number_unless_0(function.line);
        });
        json_.key("columnNumber").repeat(functions.size(), nulls);
        json_.key("originalLocation").repeat(functions.size(), nulls);
        json_.end_object();
    }
    void thread(const ThreadSamples& samples) {
        const Thread* known = samples.thread < profile_.threads.size() ? &profile_.threads[samples.thread] : nullptr;
        json_.begin_object().key("processType").text("default");
        json_.key("processStartupTime").number(0).key("processShutdownTime").null();
        json_.key("registerTime").number(0).key("unregisterTime").null().key("pausedRanges").begin_array().end_array();
        const bool first_event = samples.event == threads_.front().event;
        json_.key("name").text(known != nullptr
                                   ? one_line(known->name) + (first_event ? "" : ", " + samples.event->run.event)
                                   : samples.name);
        json_.key("isMainThread").boolean(known == nullptr || known->tid == profile_.run.pid);
        json_.key("processName").text(product());
        json_.key("pid").text(std::to_string(profile_.run.pid));
        json_.key("tid").number(known != nullptr && known->tid != 0 ? known->tid : samples.thread);
        sample_table(samples);
        empty_table("markers", {"data", "name", "startTime", "endTime", "phase", "category"});
        json_.end_object();
    }
    /// One sample for each stack, with the time of all its samples, one after the other along the thread's CPU time.
    /// What is no time is a number of events.
    void sample_table(const ThreadSamples& samples) {
        std::uint64_t before = 0;
        json_.key("samples").begin_object().key("length").number(samples.counts.size());
        const bool time = weighs_nanoseconds(samples.event->run);
        const double unit = time ? 1e-6 : 1;
        const bool bytes = counts_bytes(samples.event->run);
        json_.key("weightType").text(time ? "tracing-ms" : bytes ? "bytes" : "samples");
        json_.key("stack").array(samples.counts, [this](const NamedCount* count) {
            const std::uint32_t stack = stack_of_node_[count->node];
            stack == 0 ? json_.null() : json_.number(stack - 1);
        });
        json_.key("time").array(samples.counts, [&](const NamedCount* count) {
            json_.real(static_cast<double>(before) * unit);
            before += count->weight;
        });
        json_.key("weight").array(samples.counts, [&](const NamedCount* count) {
            time ? json_.real(static_cast<double>(count->weight) * unit) : json_.number(count->weight);
        });
        json_.end_object();
    }
    void empty_table(const char* name, std::initializer_list<const char*> columns) {
        json_.key(name).begin_object().key("length").number(0);
        for (const char* column : columns) json_.key(column).begin_array().end_array();
        json_.end_object();
    }

    const NamedProfile& profile_;
    NumberedStrings strings_;
    FirefoxFiles files_;
    FirefoxFuncs funcs_;
    std::vector<ThreadSamples> threads_;
    JsonStream json_;
    std::vector<std::uint32_t> stack_of_node_;  // and one; 0: none
    std::vector<std::uint32_t> inline_depth_;   // of frames
};

}  // namespace

void write_firefox(const NamedProfile& profile, const ByteSink& out) { FirefoxWriter(AllEvents(profile), out).write(); }

}  // namespace flameprobe
