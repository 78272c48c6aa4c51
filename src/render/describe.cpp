#include "render/describe.hpp"

#include <algorithm>
#include <vector>

#include "profile/model.hpp"
#include "profile/task_event.hpp"
#include "render/kernel_work.hpp"
#include "render/role.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t longest_name = 600;  // bytes in a tooltip: enough to tell two templates apart

/// What a function is; empty for an ordinary one.
std::string_view kind_text(const NamedProfile& profile, const Function& function, bool process) {
    switch (function.kind) {
        case FrameKind::user:
            return {};
        case FrameKind::inlined:
            return "inlined";
        case FrameKind::kernel:
            return "kernel";
        case FrameKind::scope:
            return "scope";
        case FrameKind::note:
            return look_of(role_of_note(profile.strings.view(function.name))).text;
        case FrameKind::thread:
            return process ? "process" : "thread";
        case FrameKind::held:
            return "the lock's holder";
    }
    return {};
}

std::string place_text(const NamedProfile& profile, const Function& function, bool process) {
    std::string text;
    const auto add = [&](std::string_view part) {
        if (part.empty()) return;
        if (!text.empty()) text += ", ";
        text += part;
    };
    add(kind_text(profile, function, process));
    std::string place{base_name(profile.strings.view(function.file))};
    if (!place.empty() && function.line > 0) place += ":" + std::to_string(function.line);
    add(place);
    add(module_name(profile, profile.strings.view(function.module)));
    return clean_text(text);
}

/// "1.19 s (52.77 %), self 11.8 ms (0.52 %), 564 samples", as the page tells it (assets/page/data.js).
std::string weight_text(const NamedProfile& profile, const CallTree& tree, const Box& box, bool self) {
    const auto all = static_cast<double>(tree.boxes.front().total);
    const auto share = [&](std::uint64_t weight) { return percent_text(static_cast<double>(weight), all); };
    const auto part = [&](std::uint64_t weight) {
        const std::string what = unit_text(profile, weight);
        return what.empty() ? share(weight) : what + " (" + share(weight) + ")";
    };
    const bool has_unit = !unit_text(profile, 0).empty();
    std::string text = has_unit ? part(box.total) : samples_text(box.hits) + " (" + share(box.total) + ")";
    if (self && box.kind == BoxKind::function) text += ", self " + (box.self == 0 ? "0" : part(box.self));
    const bool waits = counts_passed_time(profile.run);  // which are measured
    return text + (has_unit && !waits ? ", " + samples_text(box.hits) : "");
}

/// What a function belongs to, in a word: its outermost namespace or crate, else its file.
std::string family_of(const NamedProfile& profile, FunctionId id) {
    const std::string name = clean_text(short_name(profile, id));
    const std::size_t at = name.find("::");
    if (at != name.npos && at > 0 && name.find_first_of(" (<&)") > at) return name.substr(0, at);
    std::string file = file_of(profile, id);
    file.resize(std::min(file.size(), file.find(".so")));
    return file.empty() ? name : file;
}

bool is_kernel(const NamedProfile& profile, const Box& box) {
    return profile.functions[box.function].kind == FrameKind::kernel;
}

/// "… 27 frames of tokio, std", "… kernel: tcp_sendmsg".
std::string folded_name(const NamedProfile& profile, const CallTree& tree, const Box& box) {
    constexpr std::size_t most = 3;
    std::vector<std::string> families;
    const auto& functions = tree.folded.at(static_cast<std::uint32_t>(&box - tree.boxes.data()));
    if (is_kernel(profile, box)) {
        for (const FunctionId id : functions)
            if (const auto work = kernel_work(profile.strings.view(profile.functions[id].name)); !work.empty())
                return "… kernel: " + clean_text(work);
        return "… kernel: " + clean_text(short_name(profile, functions.back()));
    }
    for (const FunctionId id : functions) {
        const std::string family = family_of(profile, id);
        if (std::ranges::find(families, family) == families.end()) families.push_back(family);
    }
    std::string text = "… " + count_text(box.gathered) + " frames of ";
    for (std::size_t at = 0; at < std::min(most, families.size()); ++at) text += (at == 0 ? "" : ", ") + families[at];
    return text + (families.size() > most ? " …" : "");
}

}  // namespace

std::string samples_text(std::uint64_t hits) { return count_text(hits) + (hits == 1 ? " sample" : " samples"); }

std::string module_name(const NamedProfile& profile, std::string_view path) {
    if (const auto program = profile.programs.find(std::string(path)); program != profile.programs.end())
        return program->second;
    return path == profile.run.executable ? program_name(profile.run) : std::string(base_name(path));
}

std::string file_of(const NamedProfile& profile, FunctionId function) {
    return clean_text(module_name(profile, profile.strings.view(profile.functions[function].module)));
}

std::string unit_text(const NamedProfile& profile, std::uint64_t weight) {
    if (counts_bytes(profile.run)) return bytes_text(weight);
    if (counts_events(profile.run)) return count_text(weight) + " " + profile.run.event;
    if (!weighs_nanoseconds(profile.run)) return {};
    const double ns = static_cast<double>(weight);
    return ns < 1e18 ? duration_text(static_cast<std::uint64_t>(ns)) : std::string{};
}

std::string amount_text(const NamedProfile& profile, std::uint64_t weight) {
    const bool events = counts_events(profile.run);
    const std::string text = events ? std::string() : unit_text(profile, weight);
    return text.empty() ? count_text(weight) : text;
}

std::string box_name(const NamedProfile& profile, const CallTree& tree, const Box& box) {
    switch (box.kind) {
        case BoxKind::all:
            return "all";
        case BoxKind::gathered:
            return count_text(box.gathered) + (box.gathered == 1 ? " frame" : " frames");
        case BoxKind::omitted:
            return "[frames left out: the deepest stack has " + count_text(tree.deepest_stack) + "]";
        case BoxKind::above:
            return count_text(box.gathered) + (box.gathered == 1 ? " frame" : " frames") + " above";
        case BoxKind::folded:
            return folded_name(profile, tree, box);
        case BoxKind::function:
            break;
    }
    const auto renamed = tree.names.find(box.function);
    std::string name =
        clean_text(renamed != tree.names.end() ? std::string_view(renamed->second)
                                               : profile.strings.view(profile.functions[box.function].name));
    return name.empty() ? "[no name]" : name;
}

std::string box_label(const NamedProfile& profile, const CallTree& tree, const Box& box) {
    if (box.kind != BoxKind::function || tree.names.contains(box.function)) return box_name(profile, tree, box);
    const std::string name = clean_text(short_name(profile, box.function));
    return name.empty() ? "[no name]" : name;
}

std::string box_tooltip(const NamedProfile& profile, const CallTree& tree, const Box& box,
                        const FlameGraphOptions& options) {
    constexpr std::size_t longest_brief = 200;
    std::string text = options.brief ? shorten(box_label(profile, tree, box), longest_brief)
                                     : shorten(box_name(profile, tree, box), longest_name);
    // In a reversed graph a box's own samples would be those of its outermost caller.
    text += "\n" + weight_text(profile, tree, box, !options.reverse);
    if (options.brief) return text;
    if (box.kind == BoxKind::gathered) {
        text += "\nnarrower than " + short_decimal(options.min_width, 4) + " %" + (box.gathered == 1 ? "" : " each");
    } else if (box.kind == BoxKind::above) {
        text += "\nin narrow towers, which do not make the picture high";
    } else if (box.kind == BoxKind::folded) {
        text += is_kernel(profile, box) ? "\nclick to see its frames" : "\nframes that only lead on: click to see them";
    } else if (box.kind == BoxKind::function) {
        const Function& function = profile.functions[box.function];
        const bool process = profile.process_first && box.depth == 1 && function.kind == FrameKind::thread;
        const std::string place = place_text(profile, function, process);
        if (!place.empty()) text += "\n" + place;
    }
    return text;
}

}  // namespace flameprobe
