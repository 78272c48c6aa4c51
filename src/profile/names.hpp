// The names in a profile that mean something to its readers, those of code that has no name, and what a profile is
// filed under.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/binary_text.hpp"
#include "base/paths.hpp"

namespace flameprobe {

/// Names of events that have a meaning.
namespace event_name {
inline constexpr std::string_view cpu = "cpu";        // the run's own event, where that is a clock
inline constexpr std::string_view offcpu = "offcpu";  // weights are nanoseconds, exact for each thread
inline constexpr std::string_view wall = "wall";      // made of the two by readers: it has no samples of its own
/// Part of offcpu that is hidden by default: the waits of threads that never woke.
inline constexpr std::string_view idle = "offcpu-idle";
/// What was allocated: weights are bytes, or allocations.
inline constexpr std::string_view alloc = "alloc", alloc_objects = "alloc-objects";
/// What was freed of it, by the allocations' stacks. Readers make of both what was alive when it was most, and at the
/// end.
inline constexpr std::string_view freed = "freed", freed_objects = "freed-objects";
/// What was alive already as the profile began, after an earlier one of the same process.
inline constexpr std::string_view kept = "kept", kept_objects = "kept-objects";
inline constexpr std::string_view heap = "heap", heap_objects = "heap-objects";
inline constexpr std::string_view heap_end = "heap-end", heap_end_objects = "heap-end-objects";
}  // namespace event_name

/// Whether the event is made of what the program allocates.
inline bool is_of_allocations(std::string_view name) {
    return name == event_name::alloc || name == event_name::alloc_objects || name.starts_with(event_name::heap);
}

/// Shown beside the bytes, without a picture of its own.
inline bool is_number_of_allocations(std::string_view name) {
    return name == event_name::alloc_objects || name.starts_with(event_name::heap_objects);
}

/// Kinds of events that say what their weights are.
namespace event_kind {
inline constexpr std::string_view bytes = "bytes", objects = "allocations";
}  // namespace event_kind

/// Names of a Summary's counters that mean something to readers.
namespace counter {
/// A sentence for the reader of the profile: the counter's name is this and the sentence, its value 1.
inline constexpr std::string_view note = "note: ";
/// Of a profile that outgrew one file: which part this is, the first being 1, and how many samples the removed parts
/// had. Neither is added up when profiles are merged.
inline constexpr std::string_view part = "part of the profile";
inline constexpr std::string_view given_up = "samples given up with the oldest parts";
/// While sampling was on. Of merged profiles the largest process's memory counts.
inline constexpr std::string_view minor_faults = "page faults, minor", major_faults = "page faults, major",
                                  peak_memory = "peak memory, bytes";
/// By the host while its allocations were sampled: exact; and how many bytes there are between two samples.
inline constexpr std::string_view allocated_bytes = "allocated, bytes", allocations = "allocations",
                                  allocation_mean = "bytes between two samples of allocations";
/// Context switches, where waiting is sampled: given up the CPU, or forced to.
inline constexpr std::string_view waits = "off-CPU: waits", preemptions = "off-CPU: preemptions";
/// What event_name::idle has: no part of what is shown, unless that was asked for.
inline constexpr std::string_view never_woke = "off-CPU: ns of threads that never woke";
}  // namespace counter

// Names for code without a known name.

inline constexpr std::string_view unknown_prefix = "[unknown in ";

/// `[unknown in libfoo.so]`
inline std::string unknown_in(std::string_view path) {
    return std::string(unknown_prefix).append(base_name(path)).append("]");
}

/// `[unknown in libfoo.so (replaced)]`: another file lies at its path now.
inline std::string unknown_in_replaced(std::string_view path) {
    return std::string(unknown_prefix).append(base_name(path)).append(" (replaced)]");
}

/// `[libfoo.so+0x1a2b40]`: the function that starts at this virtual address of the file, independent of where the file
/// is loaded.
inline std::string function_at(std::string_view path, std::uint64_t start) {
    return std::string("[").append(base_name(path)).append("+" + hex_number(start) + "]");
}

/// Code that was made at run time and that nothing names: one frame, not one for each address.
inline constexpr std::string_view nameless_jit_code = "[JIT code]";

/// Whether a name says no more than where code is that nothing names.
inline bool is_nameless(std::string_view name) { return name.starts_with(unknown_prefix) || name == nameless_jit_code; }

/// Whether a name is one of these forms.
inline bool is_stand_in(std::string_view name) {
    if (is_nameless(name)) return true;
    return name.starts_with('[') && name.ends_with(']') && name.find("+0x") != name.npos;
}

/// glibc's functions have names of its own beside the public one: `read` is `__libc_read`, and `__GI___libc_read` where
/// glibc calls it itself (its include/libc-symbols.h).
inline constexpr std::string_view glibc_alias = "__GI_";
/// "read" of "__libc_read" and "__GI___libc_read"; "__read" as it is.
inline std::string_view without_glibc_alias(std::string_view name) {
    for (const std::string_view mark : {glibc_alias, std::string_view("__libc_")})
        if (name.starts_with(mark) && name.size() > mark.size()) name.remove_prefix(mark.size());
    return name;
}
/// "read" of "__read" as well.
inline std::string_view without_glibc_marks(std::string_view name) {
    name = without_glibc_alias(name);
    return name.starts_with("__") ? name.substr(2) : name;
}

inline bool is_label_key(std::string_view key) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !key.empty() && letter(key.front()) && !key.starts_with("__") &&
           std::ranges::all_of(key, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

inline bool is_label_value(std::string_view value) {
    constexpr std::size_t most_bytes = 200;
    return !value.empty() && value.size() <= most_bytes &&
           std::ranges::none_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

using LabelList = std::vector<std::pair<std::string, std::string>>;

/// "key=value,key=value": keys as Prometheus has them ([a-zA-Z_][a-zA-Z0-9_]*, not beginning with two underscores),
/// each once; values of 1 to 200 bytes without control characters. Nothing if it is not that.
inline std::optional<LabelList> parse_labels(std::string_view text) {
    LabelList labels;
    while (!text.empty()) {
        const auto end = std::min(text.find(','), text.size());
        const auto pair = text.substr(0, end);
        const auto sign = pair.find('=');
        if (sign == pair.npos) return std::nullopt;
        const auto key = pair.substr(0, sign), value = pair.substr(sign + 1);
        const bool known = std::ranges::any_of(labels, [&](const auto& label) { return label.first == key; });
        if (known || !is_label_key(key) || !is_label_value(value)) return std::nullopt;
        labels.emplace_back(key, value);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return labels;
}

}  // namespace flameprobe
