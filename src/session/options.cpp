#include "session/options.hpp"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "capture/event_source.hpp"
#include "session/push_spool.hpp"
#include "session/run_info.hpp"
#include "symbolize/debug_file.hpp"
#include "symbolize/event_choice.hpp"

namespace flameprobe {
namespace {

using Problems = std::vector<std::string>;

std::optional<std::uint64_t> whole_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == text.npos) return parts;
        text.remove_prefix(end + 1);
    }
}

// Each setter gives true, or false for a value that is not accepted.
bool set_frequency(std::string_view text, Options& options) {
    const auto value = whole_number(text);
    if (!value || *value < 1 || *value > 20000) return false;
    options.frequency = *value;
    return true;
}

bool set_out(std::string_view text, Options& options) {
    if (text.empty()) return false;
    for (std::size_t at = 0; (at = text.find('%', at)) != text.npos; at += 2) {
        if (at + 1 == text.size() || std::string_view("eptn%").find(text[at + 1]) == std::string_view::npos)
            return false;
    }
    options.out = text;
    return true;
}

bool set_formats(std::string_view text, Options& options) {
    std::vector<Format> formats;
    if (text != "none") {
        for (const auto part : split(text, ',')) {
            const auto format = format_by_name(part);
            if (!format) return false;
            if (std::find(formats.begin(), formats.end(), *format) == formats.end()) formats.push_back(*format);
        }
    }
    options.formats = std::move(formats);
    return true;
}

template <class T, std::size_t size>
bool choose(std::string_view text, const std::array<std::pair<std::string_view, T>, size>& choices, T& out) {
    for (const auto& [name, value] : choices) {
        if (text == name) {
            out = value;
            return true;
        }
    }
    return false;
}

bool set_engine(std::string_view text, Options& options) {
    constexpr std::array<std::pair<std::string_view, EngineChoice>, 4> choices{{{"auto", EngineChoice::automatic},
                                                                                {"ring", EngineChoice::ring},
                                                                                {"signal", EngineChoice::signal},
                                                                                {"timer", EngineChoice::timer}}};
    return choose(text, choices, options.engine);
}

bool set_unwind(std::string_view text, Options& options) {
    constexpr std::array<std::pair<std::string_view, UnwindChoice>, 3> choices{
        {{"auto", UnwindChoice::automatic}, {"dwarf", UnwindChoice::dwarf}, {"fp", UnwindChoice::frame_pointer}}};
    return choose(text, choices, options.unwind);
}

bool set_stack(std::string_view text, Options& options) {
    const auto value = whole_number(text);
    if (!value || *value < 1024 || *value > most_stack_bytes) return false;
    options.stack_bytes = static_cast<std::uint32_t>(*value & ~std::uint64_t{7});
    return true;
}

// The run's own event is perf's, and a clock unless another one is asked for. The clock comes first.
bool set_events(std::string_view text, Options& options) {
    std::vector<std::string> shown;
    std::string own;
    for (const auto part : split(text, ',')) {
        std::string name = short_event_name(std::string(part));
        const bool waiting = name == event_name::offcpu || name == event_name::wall;
        if (!waiting && name != event_name::cpu && !is_event_name(part)) return false;
        if (std::find(shown.begin(), shown.end(), name) != shown.end()) continue;
        if (!waiting) {
            if (!own.empty()) return false;
            own = name == part ? name : std::string(part);
            shown.insert(shown.begin(), name);
        } else {
            shown.push_back(std::move(name));
        }
    }
    const bool has_wall = std::find(shown.begin(), shown.end(), event_name::wall) != shown.end();
    if (own.empty() || own == event_name::cpu) own = Options().event;
    if (has_wall && short_event_name(own) != event_name::cpu) return false;  // it is made of the clock's samples
    options.event = std::move(own);
    options.shown = std::move(shown);
    return true;
}

bool set_offcpu_frequency(std::string_view text, Options& options) {
    const auto value = whole_number(text);
    if (!value || *value < 1 || *value > 20000) return false;
    options.offcpu_frequency = *value;
    return true;
}

// Without a unit: microseconds, in which folded text counts.
bool set_offcpu_least(std::string_view text, Options& options) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> units{
        {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};
    std::uint64_t unit = 1'000;
    for (const auto& [name, ns] : units) {
        if (!text.ends_with(name)) continue;
        text.remove_suffix(name.size());
        unit = ns;
        break;
    }
    const auto value = whole_number(text);
    constexpr std::uint64_t most = 86'400'000'000'000;
    if (!value || *value > most / unit) return false;
    options.offcpu_least_ns = *value * unit;
    return true;
}

bool set_kernel(std::string_view text, Options& options) {
    constexpr std::array<std::pair<std::string_view, KernelChoice>, 3> choices{
        {{"auto", KernelChoice::automatic}, {"on", KernelChoice::on}, {"off", KernelChoice::off}}};
    return choose(text, choices, options.kernel);
}

bool set_start(std::string_view text, Options& options) {
    if (text != "0" && text != "1") return false;
    options.start = text == "1";
    return true;
}

bool set_signal(std::string_view text, Options& options) {
    if (text.substr(0, 3) == "SIG") text.remove_prefix(3);
    for (int number = 1; number < NSIG; ++number) {
        const char* name = ::sigabbrev_np(number);
        if (name == nullptr || text != name) continue;
        if (number == SIGKILL || number == SIGSTOP) return false;
        options.toggle_signal = number;
        return true;
    }
    const auto number = whole_number(text);
    if (!number || *number < static_cast<std::uint64_t>(SIGRTMIN) || *number > static_cast<std::uint64_t>(SIGRTMAX))
        return false;
    options.toggle_signal = static_cast<int>(*number);
    return true;
}

bool set_dump_every(std::string_view text, Options& options) {
    if (text.empty()) return false;
    if (text == "off") return true;
    std::uint64_t unit = 1'000'000'000;
    switch (text.back()) {
        case 'h':
            unit *= 60;
            [[fallthrough]];
        case 'm':
            unit *= 60;
            [[fallthrough]];
        case 's':
            text.remove_suffix(1);
            break;
        default:
            break;
    }
    const auto value = whole_number(text);
    if (!value || *value == 0 || *value > 86400) return false;
    options.dump_every_ns = *value * unit;
    return true;
}

bool set_max_size(std::string_view text, Options& options) {
    if (text.empty()) return false;
    unsigned shift = 0;
    if (const auto unit = std::string_view("KMGT").find(text.back()); unit != text.npos) {
        shift = 10 * (static_cast<unsigned>(unit) + 1);
        text.remove_suffix(1);
    }
    const auto value = whole_number(text);
    constexpr std::uint64_t least = std::uint64_t{1} << 20, most = std::uint64_t{1} << 50;
    if (!value || *value > most >> shift || *value << shift < least) return false;
    options.most_bytes = *value << shift;
    return true;
}

bool set_debug_dir(std::string_view text, Options& options) {
    options.debug_directories = directories_of_list(text, working_directory());
    return !options.debug_directories.empty();
}

bool set_push(std::string_view text, Options& options) {
    if (text.empty()) return false;
    const bool absolute = text.front() == '/';
    options.push_directory = (absolute ? "" : working_directory() + '/') + std::string(text);
    return true;
}

bool set_labels(std::string_view text, Options& options) {
    auto labels = parse_labels(text);
    if (!labels) return false;
    options.labels = std::move(*labels);
    return true;
}

bool set_children(std::string_view text, Options& options) {
    if (text != "on" && text != "off") return false;
    options.children = text == "on";
    return true;
}

bool set_log(std::string_view text, Options& options) {
    if (text.empty()) return false;
    if (text == "auto")
        options.log = LogMode::automatic;
    else if (text == "quiet")
        options.log = LogMode::quiet;
    else if (text == "stderr")
        options.log = LogMode::standard_error;
    else {
        options.log = LogMode::file;
        options.log_path = text;
    }
    return true;
}

std::vector<Setting> make_settings() {
    const std::string formats = format_names(), events = event_names();
    return {
        {"FLAMEPROBE_FREQ", 'F', "HZ", "samples a second of CPU time, per thread (default 99)",
         "a whole number from 1 to 20000", set_frequency},
        {"FLAMEPROBE_OUT", 'o', "PATH", "results without the ending; %e name, %p pid, %t time, %n dump, %%",
         "a path; after % only e, p, t, n or %", set_out},
        {"FLAMEPROBE_FORMAT", 'f', "LIST", formats + ", none (default folded,svg)",
         "none, or a comma list of " + formats, set_formats},
        {"FLAMEPROBE_ENGINE", 0, "NAME", "auto, ring, signal, timer", "auto, ring, signal or timer", set_engine},
        {"FLAMEPROBE_UNWIND", 0, "NAME", "auto, dwarf, fp", "auto, dwarf or fp", set_unwind},
        {"FLAMEPROBE_STACK", 0, "BYTES", "of stack copied with each sample", "a number of bytes from 1024 to 1048576",
         set_stack},
        {"FLAMEPROBE_EVENT", 'e', "LIST", "cpu, offcpu, wall, page-faults, cycles, ... (default cpu)",
         "a comma list of cpu, offcpu, wall (both on one axis of time) and at most one of " + events, set_events},
        {"FLAMEPROBE_OFFCPU_FREQ", 0, "HZ", "how often a second threads that wait are looked at (default 99)",
         "a whole number from 1 to 20000", set_offcpu_frequency},
        {"FLAMEPROBE_OFFCPU_MIN", 0, "TIME", "hide shorter waits: 100us, 1ms (default 0)",
         "a time such as 0, 100us, 1ms, 2s; without a unit microseconds", set_offcpu_least},
        {"FLAMEPROBE_KERNEL", 0, "WHEN", "auto, on, off", "auto, on or off", set_kernel},
        {"FLAMEPROBE_START", 0, "0|1", "0: wait for the API or the signal", "0 or 1", set_start},
        {"FLAMEPROBE_SIGNAL", 0, "NAME", "a signal that starts and stops sampling",
         "a signal's name such as USR2, or a realtime signal's number", set_signal},
        {"FLAMEPROBE_DUMP_EVERY", 0, "TIME", "write a result every so often: 30s, 5m",
         "off, or a time such as 30s, 5m, 1h", set_dump_every},
        {"FLAMEPROBE_MAX_SIZE", 0, "BYTES", "of a profile on disk: 64M, 2G", "a size from 1M on, such as 64M or 2G",
         set_max_size},
        {"FLAMEPROBE_DEBUG_DIR", 0, "LIST", "where separate debug files are, beside /usr/lib/debug",
         "directories, with : between them", set_debug_dir},
        {"FLAMEPROBE_PUSH", 0, "DIR", "leave a window every 15 s here for flameprobe push, and no results",
         "a directory", set_push},
        {"FLAMEPROBE_LABELS", 0, "LIST", "KEY=VALUE,...: what the profile is filed under",
         "KEY=VALUE with commas between; letters, digits and _ in KEY", set_labels},
        {"FLAMEPROBE_CHILDREN", 0, "WHEN", "on, off: profile child processes too", "on or off", set_children},
        {"FLAMEPROBE_LOG", 0, "WHERE", "auto, quiet, stderr, or a file", "auto, quiet, stderr or a file's path",
         set_log},
    };
}

std::string quote(std::string_view value) {
    std::string text = "'";
    for (const char c : value.substr(0, 80)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return text + (value.size() > 80 ? "...'" : "'");
}

std::string names_of_all() {
    std::string names;
    for (const auto& setting : settings()) names += (names.empty() ? "" : ", ") + std::string(setting.variable);
    return names;
}

}  // namespace

bool Options::off_cpu() const {
    return std::find(shown.begin(), shown.end(), event_name::offcpu) != shown.end() ||
           std::find(shown.begin(), shown.end(), event_name::wall) != shown.end();
}

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

Options read_options(const std::vector<std::string_view>& environment, Problems& problems) {
    Options options;
    for (const auto line : environment) {
        const auto name = line.substr(0, line.find('='));
        if (!name.starts_with("FLAMEPROBE_") || name.size() == line.size()) continue;
        const auto value = line.substr(name.size() + 1);
        // Ours: see session/family.hpp, and run_info.cpp.
        if (name == "FLAMEPROBE_ROOT" || name == "FLAMEPROBE_DIRTY") continue;
        const auto known =
            std::find_if(settings().begin(), settings().end(), [&](const Setting& s) { return s.variable == name; });
        if (known == settings().end()) {
            problems.push_back(std::string(name) + "=" + quote(value) +
                               " is not a variable of FlameProbe; accepted are " + names_of_all());
        } else if (!known->set(value, options)) {
            problems.push_back(std::string(name) + "=" + quote(value) + " is not accepted: it takes " +
                               known->accepted + "; the default is used");
        }
    }
    if (!options.push_directory.empty()) {
        options.out = window_pattern(options.push_directory);
        options.formats.clear();
        if (options.dump_every_ns == 0) options.dump_every_ns = std::uint64_t{15} * 1'000'000'000;
    }
    return options;
}

}  // namespace flameprobe
