#include "session/settings.hpp"

#include <signal.h>
#include <string.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "base/paths.hpp"
#include "capture/event_source.hpp"
#include "profile/task_event.hpp"
#include "session/output_path.hpp"
#include "session/run_info.hpp"

namespace flameprobe {
namespace {

using Text = std::string_view;

template <class T>
struct Choice {
    Text name;
    T value;
};

template <class T>
bool choose(Text text, std::initializer_list<Choice<T>> choices, T& out) {
    for (const auto& choice : choices) {
        if (text != choice.name) continue;
        out = choice.value;
        return true;
    }
    return false;
}

template <class T>
bool whole_number(Text text, std::uint64_t least, std::uint64_t most, T& out) {
    const auto value = number_in<std::uint64_t>(text);
    if (!value || *value < least || *value > most) return false;
    out = static_cast<T>(*value);
    return true;
}

bool quantity(Text text, std::initializer_list<Unit> units, std::uint64_t least, std::uint64_t most,
              std::uint64_t& out) {
    const auto value = quantity_in(text, units, most);
    if (!value || *value < least) return false;
    out = *value;
    return true;
}

constexpr std::uint64_t kilo = 1024, mega = 1024 * kilo, giga = 1024 * mega, tera = 1024 * giga;

bool set_out(Text text, Options& options) {
    if (text.empty()) return false;
    for (std::size_t at = 0; (at = text.find('%', at)) != text.npos; at += 2) {
        if (at + 1 == text.size() || std::string_view("eptn%").find(text[at + 1]) == std::string_view::npos)
            return false;
    }
    options.out = whole_template(text);
    return true;
}

bool set_formats(Text text, Options& options) {
    std::vector<Format> formats;
    if (text != "none") {
        for (const auto part : parts_of_list(text, ',')) {
            const auto format = format_by_name(part);
            if (!format) return false;
            if (std::find(formats.begin(), formats.end(), *format) == formats.end()) formats.push_back(*format);
        }
    }
    options.formats = std::move(formats);
    return true;
}

/// What is shown beside an event of allocations.
std::vector<std::string_view> companions_of(const std::string& name) {
    if (name == event_name::alloc) return {event_name::alloc_objects};
    if (name == event_name::heap) return {event_name::heap_objects, event_name::heap_end};
    return {};
}

// The run's own event is a clock wherever one is asked for, or wall is, which is made of its samples; then it comes
// first. Else it is the first of perf's other events.
bool set_events(Text text, Options& options) {
    std::vector<std::string> shown, more;
    std::string own;
    for (const auto part : parts_of_list(text, ',')) {
        std::string name = short_event_name(std::string(part));
        const bool waiting = name == event_name::offcpu || name == event_name::wall;
        const bool clock = name == event_name::cpu;
        const bool allocations = name == event_name::alloc || name == event_name::heap;
        const bool tasks = name == event_name::tasks;
        if (!waiting && !clock && !allocations && !tasks && !is_event_name(part)) return false;
        if (std::find(shown.begin(), shown.end(), name) != shown.end()) continue;
        if (clock) own = name == part ? Options().event : std::string(part);
        if (!waiting && !clock && !allocations && !tasks) more.push_back(name);
        shown.insert(clock ? shown.begin() : shown.end(), name);
        for (const auto companion : companions_of(name)) shown.emplace_back(companion);
    }
    const bool has_wall = std::find(shown.begin(), shown.end(), event_name::wall) != shown.end();
    if (own.empty() && (has_wall || more.empty())) own = Options().event;
    if (own.empty()) {
        own = more.front();
        more.erase(more.begin());
        const auto at = std::find(shown.begin(), shown.end(), own);
        std::rotate(shown.begin(), at, at + 1);
    }
    options.more_events = std::move(more);
    options.event = std::move(own);
    options.shown = std::move(shown);
    return true;
}

bool set_signal(Text text, Options& options) {
    if (text.substr(0, 3) == "SIG") text.remove_prefix(3);
    for (int number = 1; number < NSIG; ++number) {
        const char* name = ::sigabbrev_np(number);
        if (name == nullptr || text != name) continue;
        if (number == SIGKILL || number == SIGSTOP) return false;
        options.toggle_signal = number;
        return true;
    }
    return whole_number(text, static_cast<unsigned>(SIGRTMIN), static_cast<unsigned>(SIGRTMAX), options.toggle_signal);
}

bool set_stack(Text text, Options& options) {
    std::uint64_t bytes = 0;
    if (!quantity(text, {{"K", kilo}, {"M", mega}, {"", 1}}, 1024, most_stack_bytes, bytes)) return false;
    options.stack_bytes = static_cast<std::uint32_t>(bytes) & ~7U;
    return true;
}

bool set_push(Text text, Options& options) {
    if (text.empty()) return false;
    options.push_directory = (text.front() == '/' ? "" : working_directory() + '/') + std::string(text);
    return true;
}

bool set_labels(Text text, Options& options) {
    auto labels = parse_labels(text);
    if (!labels) return false;
    options.labels = std::move(*labels);
    return true;
}

bool set_log(Text text, Options& options) {
    if (text.empty()) return false;
    options.log = LogMode::file;
    options.log_path = text;
    choose(text, {{"auto", LogMode::automatic}, {"quiet", LogMode::quiet}, {"stderr", LogMode::standard_error}},
           options.log);
    return true;
}

std::vector<Setting> make_settings() {
    using Group = SettingGroup;
    constexpr bool both = true, run = false;
    const std::string formats = format_names(), events = event_names();
    return {
        {"FLAMEPROBE_FREQ", 'F', both, Group::sampled, "HZ", "samples a second of CPU time, per thread (default 99)",
         "a whole number from 1 to 20000",
         [](Text text, Options& o) { return whole_number(text, 1, 20000, o.frequency); }},
        {"FLAMEPROBE_OUT", 'o', both, Group::results, "PATH",
         "where results go, without the ending: %e program, %p pid, %t time, %n dump, %%",
         "a path; after % only e, p, t, n or %", set_out},
        {"FLAMEPROBE_FORMAT", 'f', both, Group::results, "LIST", formats + ", none (default folded,svg)",
         "none, or a comma list of " + formats, set_formats},
        {"FLAMEPROBE_ENGINE", 0, run, Group::how, "NAME", "how samples are taken: auto, ring, signal, timer",
         "auto, ring, signal or timer",
         [](Text text, Options& o) {
             return choose(text,
                           {{"auto", EngineChoice::automatic},
                            {"ring", EngineChoice::ring},
                            {"signal", EngineChoice::signal},
                            {"timer", EngineChoice::timer}},
                           o.engine);
         }},
        {"FLAMEPROBE_UNWIND", 0, both, Group::how, "NAME", "how stacks are followed: auto, dwarf, fp (frame pointers)",
         "auto, dwarf or fp",
         [](Text text, Options& o) {
             return choose(text, {{"auto", false}, {"dwarf", false}, {"fp", true}}, o.by_frame_pointers);
         }},
        {"FLAMEPROBE_STACK", 0, both, Group::how, "BYTES", "how much of the stack is copied with each sample: 16K, 64K",
         "a number of bytes from 1024 to 1048576, such as 64K", set_stack},
        {"FLAMEPROBE_EVENT", 'e', both, Group::sampled, "LIST",
         "cpu, offcpu (waits), wall (both), alloc, heap, tasks, page-faults, ... (default cpu)",
         "a comma list of cpu, offcpu, wall (both on one axis of time), alloc, heap, tasks, " + events, set_events},
        // libflameprobe-alloc.so, which is at work before this is read, reads it too (preload/alloc/memory.cpp).
        {"FLAMEPROBE_ALLOC_BYTES", 0, run, Group::sampled, "BYTES",
         "between two samples of alloc and heap (default 512K)", "a number of bytes from 1 on, such as 4096, 64K or 2M",
         [](Text text, Options& o) {
             return quantity(text, {{"K", kilo}, {"M", mega}, {"G", giga}, {"", 1}}, 1, tera, o.alloc_bytes);
         }},
        {"FLAMEPROBE_OFFCPU_FREQ", 0, both, Group::sampled, "HZ", "looks a second at threads that wait (default 99)",
         "a whole number from 1 to 20000",
         [](Text text, Options& o) { return whole_number(text, 1, 20000, o.offcpu_frequency); }},
        {"FLAMEPROBE_OFFCPU_MIN", 0, both, Group::sampled, "TIME", "leave out shorter waits: 100us, 1ms (default 0)",
         "a time such as 0, 100us, 1ms, 2s; without a unit microseconds",  // in which folded text counts
         [](Text text, Options& o) {
             return quantity(text, {{"ns", 1}, {"us", 1'000}, {"ms", ns_per_ms}, {"s", ns_per_second}, {"", 1'000}}, 0,
                             ns_per_day, o.offcpu_least_ns);
         }},
        {"FLAMEPROBE_KERNEL", 0, both, Group::sampled, "WHEN", "frames of the kernel: auto, on, off", "auto, on or off",
         [](Text text, Options& o) {
             return choose(text,
                           {{"auto", KernelChoice::automatic}, {"on", KernelChoice::on}, {"off", KernelChoice::off}},
                           o.kernel);
         }},
        {"FLAMEPROBE_START", 0, run, Group::when, "0|1",
         "0: sample nothing until the program or the signal says so (default 1)", "0 or 1",
         [](Text text, Options& o) {
             return choose(text, {{"0", false}, {"1", true}}, o.start);
         }},
        {"FLAMEPROBE_SIGNAL", 0, run, Group::when, "NAME", "a signal that starts and stops sampling: USR2",
         "a signal's name such as USR2, or a realtime signal's number", set_signal},
        {"FLAMEPROBE_DUMP_EVERY", 0, run, Group::when, "TIME", "write a result every so often: 30s, 5m",
         "off, or a time such as 30s, 5m, 1h",
         [](Text text, Options& o) {
             return text == "off" ||
                    quantity(text,
                             {{"s", ns_per_second}, {"m", ns_per_minute}, {"h", ns_per_hour}, {"", ns_per_second}}, 1,
                             3600 * ns_per_day, o.dump_every_ns);
         }},
        {"FLAMEPROBE_MAX_SIZE", 0, both, Group::results, "BYTES",
         "at most this much of a profile on disk: 64M, 2G (default 512M)", "a size from 1M on, such as 64M or 2G",
         [](Text text, Options& o) {
             return quantity(text, {{"K", kilo}, {"M", mega}, {"G", giga}, {"T", tera}, {"", 1}}, mega, 1024 * tera,
                             o.most_bytes);
         }},
        {"FLAMEPROBE_MIN_CPU", 0, run, Group::results, "TIME",
         "a process without a sample leaves no results below this CPU time (default 20ms)",
         "a time such as 0, 500us, 20ms, 1s; without a unit milliseconds",
         [](Text text, Options& o) {
             return quantity(text, {{"us", 1'000}, {"ms", ns_per_ms}, {"s", ns_per_second}, {"", ns_per_ms}}, 0,
                             ns_per_day, o.least_cpu_ns);
         }},
        {"FLAMEPROBE_DEBUG_DIR", 0, both, Group::results, "LIST",
         "where separate debug files are, beside /usr/lib/debug", "directories, with : between them",
         [](Text text, Options& o) {
             const auto directories = directories_of_list(text, working_directory());
             for (const std::string& directory : directories) o.drawing.push_back("--debug-dir=" + directory);
             return !directories.empty();
         }},
        {"FLAMEPROBE_PUSH", 0, run, Group::results, "DIR",
         "leave a window every 15 s here for flameprobe push, and no results", "a directory", set_push},
        {"FLAMEPROBE_LABELS", 0, both, Group::results, "LIST", "KEY=VALUE,...: what the profile is filed under",
         "KEY=VALUE with commas between; letters, digits and _ in KEY", set_labels},
        {"FLAMEPROBE_CHILDREN", 0, run, Group::sampled, "WHEN",
         "child processes too: on, in one result (default), separate, in results of their own, off",
         "on, separate or off",
         [](Text text, Options& o) {
             o.separate = text == "separate";
             return choose(text, {{"on", true}, {"separate", true}, {"off", false}}, o.children);
         }},
        {"FLAMEPROBE_LOG", 0, run, Group::how, "WHERE", "where messages go: auto, quiet, stderr, or a file",
         "auto, quiet, stderr or a file's path", set_log},
    };
}

}  // namespace

// Never destroyed: that would be at the host's exit, at which the collector may still be at work.
const std::vector<Setting>& settings() {
    static const auto& all = *new std::vector<Setting>(make_settings());
    return all;
}

std::string Setting::option() const {
    constexpr std::string_view prefix = "FLAMEPROBE_";
    std::string name(variable.substr(prefix.size()));
    for (char& c : name) c = c == '_' ? '-' : static_cast<char>(c - 'A' + 'a');
    return name;
}

}  // namespace flameprobe
