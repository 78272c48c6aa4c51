// github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources; src/lib/file-format-spec.ts is the authority.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/all_events.hpp"
#include "export/json_stream.hpp"
#include "export/output.hpp"
#include "export/text.hpp"

namespace flameprobe {

namespace {

struct SpeedscopeFrame {
    std::string name;
    std::string file;
    std::uint32_t line = 0;
};

/// speedscope identifies a frame by its index, so there is one for each function, inlined or not, rather than for each
/// line.
struct SpeedscopeFrames {
    explicit SpeedscopeFrames(const NamedProfile& profile) {
        std::unordered_map<std::string, std::uint32_t> ids;
        for (const Function& function : profile.functions) {
            const bool kernel = function.kind == FrameKind::kernel;
            SpeedscopeFrame frame{plain_name(profile.strings.view(function.name), function.kind),
                                  std::string(profile.strings.view(function.file)), function.line};
            if (frame.file.empty()) frame.file = kernel ? "[kernel]" : profile.strings.view(function.module);
            const auto [entry, is_new] =
                ids.try_emplace(frame.name + '\n' + frame.file, static_cast<std::uint32_t>(frames.size()));
            of_function.push_back(entry->second);
            if (is_new)
                frames.push_back(std::move(frame));
            else if (frames[entry->second].line == 0)
                frames[entry->second].line = frame.line;
        }
    }

    std::vector<SpeedscopeFrame> frames;
    std::vector<std::uint32_t> of_function;
};

/// Root first. Without the thread, which is the profile's name, unless the stack has no other frame.
void stack_of(const NamedProfile& profile, NodeId leaf, std::vector<FunctionId>& stack) {
    stack.clear();
    for (NodeId node = leaf; node != 0; node = profile.nodes[node].parent) {
        const FunctionId function = profile.function_of(node);
        if (profile.functions[function].kind != FrameKind::thread || stack.empty()) stack.push_back(function);
    }
    std::ranges::reverse(stack);
}

void write_thread(const NamedProfile& profile, const SpeedscopeFrames& frames, const ThreadSamples& thread,
                  JsonStream& json) {
    const bool has_time = weighs_nanoseconds(thread.event->run);
    json.begin_object();
    json.key("type").text("sampled").key("name").text(thread.name);
    const bool bytes = counts_bytes(thread.event->run);
    json.key("unit").text(has_time ? "nanoseconds" : bytes ? "bytes" : "none");
    // The importer's total is the greater of end - start and the sum of weights, so both are made equal.
    json.key("startValue").number(0).key("endValue").number(thread.weight);
    std::vector<FunctionId> stack;
    json.key("samples").array(thread.counts, [&](const NamedCount* count) {
        stack_of(profile, count->node, stack);
        json.array(stack, [&](FunctionId function) { json.number(frames.of_function[function]); });
    });
    json.key("weights").array(thread.counts, [&](const NamedCount* count) { json.number(count->weight); });
    json.end_object();
}

}  // namespace

void write_speedscope(const NamedProfile& first_event, const ByteSink& out) {
    const AllEvents events(first_event);
    const NamedProfile& profile = events.tables();
    const SpeedscopeFrames frames(profile);
    const auto threads = samples_by_thread(events);
    const auto busiest = busiest_thread(threads);
    JsonStream json(out);
    json.begin_object();
    json.key("$schema").text("https://www.speedscope.app/file-format-schema.json");
    json.key("exporter").text("FlameProbe " FLAMEPROBE_VERSION);
    json.key("name").text(profile.has_run ? profile.run.command : "folded stacks");
    json.key("activeProfileIndex").signed_number(busiest - threads.begin());
    json.key("shared").begin_object().key("frames").array(frames.frames, [&](const SpeedscopeFrame& frame) {
        json.begin_object().key("name").text(frame.name);
        if (!frame.file.empty()) json.key("file").text(frame.file);
        if (frame.line != 0) json.key("line").number(frame.line);
        json.end_object();
    });
    json.end_object();
    json.key("profiles").array(threads, [&](const ThreadSamples& thread) {
        write_thread(profile, frames, thread, json);
    });
    json.end_object();
    json.finish();
}

}  // namespace flameprobe
