#include "render/story_parts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "profile/names.hpp"
#include "render/kernel_work.hpp"
#include "render/plain_name.hpp"

namespace flameprobe {

namespace {

constexpr double leads_back = .6;  // of a library's function in code that it calls back
constexpr double only = .8;        // of a function of libc in one system call
constexpr std::string_view the_kernel = "the kernel", the_interpreter = "the interpreter";

}  // namespace

bool StoryTeller::leads_on(NodeId node, const Path& path) const {
    const FunctionId id = profile_.function_of(node);
    const Role role = roles_[id];
    if (role == Role::thread || role == Role::scope || role == Role::glue) return true;
    if (role == Role::note) return child_[node] != 0;  // [truncated]: what is known stands on it
    if (role != Role::own && role != Role::library) return false;
    const std::string_view name = profile_.strings.view(profile_.functions[id].name);
    if (is_dispatch(name)) return true;
    // Without its debug information libc has no names for what starts threads and main: all of a program stands on it.
    const bool starts =
        path.empty() && child_[node] != 0 && is_libc(profile_.strings.view(profile_.functions[id].module));
    if (is_stand_in(name)) return starts || !is_other_library(id, path);
    return std::ranges::any_of(path, [&](FunctionId before) {
        return before == shown_[id] ||
               (tells_[id] && is_closure_of(name, profile_.strings.view(profile_.functions[before].name)));
    });
}

/// Whether code without a name is of a library that nothing on the path is of.
bool StoryTeller::is_other_library(FunctionId id, const Path& path) const {
    const auto module = [&](FunctionId of) { return profile_.functions[of].module; };
    return profile_.strings.view(module(id)).find(".so") != std::string_view::npos &&
           std::ranges::none_of(path, [&](FunctionId before) { return module(before) == module(id); });
}

/// Whether it only calls others for an interpreter, or is the interpreter's without a name.
bool StoryTeller::is_of_interpreter(FunctionId id) const {
    const std::string_view name = profile_.strings.view(profile_.functions[id].name);
    if (roles_[id] != Role::own && roles_[id] != Role::library) return false;
    return is_dispatch(name) || (is_stand_in(name) && interpreters_.contains(profile_.functions[id].module));
}

std::string StoryTeller::work_of_kernel(NodeId node) const {
    for (; node != 0;) {
        if (const auto work = kernel_work(profile_.name(profile_.nodes[node].frame)); !work.empty())
            return std::string(work);
        NodeId heaviest = 0;
        each_callee(node, [&](NodeId callee) {
            if (heaviest == 0 || now_->total[callee] > now_->total[heaviest]) heaviest = callee;
        });
        node = heaviest;
    }
    return std::string(the_kernel);
}

/// The system call that nearly all of a function of libc is in; empty: there is none.
std::string StoryTeller::only_call(NodeId node) const {
    const auto module = [&](NodeId id) { return profile_.strings.view(profile_.function(id).module); };
    const NodeId first = node;
    for (;;) {
        NodeId heaviest = 0, entry = 0;
        std::uint64_t in_kernel = 0;
        each_callee(node, [&](NodeId callee) {
            const bool kernel = roles_[profile_.function_of(callee)] == Role::kernel;
            NodeId& most = kernel ? entry : heaviest;
            if (most == 0 || now_->total[callee] > now_->total[most]) most = callee;
            if (kernel) in_kernel += now_->total[callee];
        });
        if (is_part(in_kernel, only, now_->total[first])) {
            std::string work = work_of_kernel(entry);
            if (work == the_kernel) work = plain_name(profile_, profile_.function_of(first));
            const bool libc = is_libc(module(first)) && work.find(' ') == work.npos;
            return libc || is_wrapper_of(profile_.name(profile_.nodes[first].frame), work) ? work : std::string();
        }
        if (heaviest == 0 || !is_part(now_->total[heaviest], only, now_->total[first])) return {};
        const Role role = roles_[profile_.function_of(heaviest)];
        if (role == Role::waiting && is_libc(module(first)))
            return std::string(profile_.name(profile_.nodes[heaviest].frame));
        if (module(heaviest) != module(first) || (role != Role::own && role != Role::library)) return {};
        node = heaviest;
    }
}

StoryPart StoryTeller::part_at(NodeId node) const {
    const FunctionId id = profile_.function_of(node);
    const std::string_view name = profile_.strings.view(profile_.functions[id].name);
    StoryPart part{.name = {},
                   .function = shown_[id],
                   .weight = now_->total[node],
                   .hits = now_->total_hits[node],
                   .nodes = {node}};
    const Role role = roles_[id];
    if (role == Role::kernel) {
        part.kind = StoryPart::Kind::call;
        part.name = work_of_kernel(node);
    } else if (role == Role::waiting) {
        part.kind = StoryPart::Kind::call;
        part.name = name;
    } else if (role != Role::own && role != Role::library) {
        part.kind = StoryPart::Kind::note;
        part.name = name;
    } else if (is_stand_in(name) && is_of_interpreter(id)) {
        part.kind = StoryPart::Kind::call;
        part.name = the_interpreter;
    } else if (is_stand_in(name)) {
        part.kind = StoryPart::Kind::nameless;
        part.name = nameless_file(profile_, id);
    } else if (is_allocator(name)) {
        part.kind = StoryPart::Kind::memory;
        part.name = "malloc and free";
    } else if (part.name = only_call(node); !part.name.empty()) {
        part.kind = StoryPart::Kind::call;
    } else {
        part.name = plain_name(profile_, id);
    }
    return part;
}

std::vector<StoryPart> StoryTeller::parts_of(const std::vector<NodeId>& nodes, const Path& path) const {
    Parts parts;
    std::vector<NodeId> open = nodes;
    const auto itself = [&](NodeId node, StoryPart::Kind kind, std::string name) {
        parts.add({.kind = kind,
                   .name = std::move(name),
                   .weight = now_->self[node],
                   .hits = now_->self_hits[node],
                   .nodes = {node},
                   .alone = true});
    };
    while (!open.empty()) {
        const NodeId node = open.back();
        open.pop_back();
        const bool is_function = node != 0 && is_stand_in(profile_.name(profile_.nodes[node].frame)) &&
                                 roles_[profile_.function_of(node)] != Role::note;
        if (node != 0 && is_of_interpreter(profile_.function_of(node)))
            itself(node, StoryPart::Kind::call, std::string(the_interpreter));
        else if (is_function)
            itself(node, StoryPart::Kind::nameless, std::string(nameless_file(profile_, profile_.function_of(node))));
        else
            itself(node, StoryPart::Kind::itself, {});
        each_callee(node, [&](NodeId callee) {
            if (now_->total[callee] == 0) return;
            if (leads_on(callee, path))
                open.push_back(callee);
            else
                parts.add(part_at(callee));
        });
    }
    return parts.take();
}

/// The function that a library's mostly calls back; nothing where most is its own.
std::optional<StoryPart> StoryTeller::below(const StoryPart& library, const Path& path) const {
    Parts parts;
    for (std::vector<NodeId> open = library.nodes; !open.empty();) {
        const NodeId node = open.back();
        open.pop_back();
        each_callee(node, [&](NodeId callee) {
            if (tells_[profile_.function_of(callee)] && !leads_on(callee, path))
                parts.add(part_at(callee));
            else
                open.push_back(callee);
        });
    }
    std::vector<StoryPart> found = parts.take();
    if (found.empty() || !is_part(found.front().weight, leads_back, library.weight)) return std::nullopt;
    return std::move(found.front());
}

/// The functions with names that code of a library without names mostly calls in the same file.
std::vector<StoryPart> StoryTeller::named_below(const StoryPart& nameless, const Path& path) const {
    if (nameless.kind != StoryPart::Kind::nameless || nameless.alone) return {};
    Parts parts;
    for (std::vector<NodeId> open = nameless.nodes; !open.empty();) {
        const NodeId node = open.back();
        open.pop_back();
        const StringId module = profile_.function(node).module;
        each_callee(node, [&](NodeId callee) {
            if (profile_.function(callee).module != module) return;
            if (tells_[profile_.function_of(callee)] && !leads_on(callee, path))
                parts.add(part_at(callee));
            else
                open.push_back(callee);
        });
    }
    std::vector<StoryPart> found = parts.take();
    std::uint64_t named = 0;
    for (const StoryPart& one : found) named += one.kind == StoryPart::Kind::function ? one.weight : 0;
    return is_part(named, leads_back, nameless.weight) ? std::move(found) : std::vector<StoryPart>();
}

}  // namespace flameprobe
