#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/kernel_work.hpp"
#include "render/page_parts.hpp"
#include "render/role.hpp"
#include "render/table_rows.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_string = 10'000;  // bytes
constexpr unsigned no_kind = 6;                 // behind FrameKind's

/// Distinct strings in the order of their first use.
class Strings {
public:
    std::size_t add(std::string text) {
        const auto [at, added] = ids_.try_emplace(std::move(text), ids_.size());
        if (added) list_.push_back(at->first);
        return at->second;
    }
    const Json& list() const { return list_; }

private:
    std::map<std::string, std::size_t> ids_;
    Json list_ = Json::array();
};

class Columns {
public:
    Columns(const NamedProfile& profile, const Palette& palette) : profile_(profile) {
        for (const NamedShade& shade : palette.classes()) colors_of_.try_emplace(shade.name, colors_of_.size());
    }

    void add(FunctionId id, Role role, const std::string& color) {
        const Function& function = profile_.functions[id];
        const auto text = [&](std::string_view raw) { return shorten(clean_text(raw), longest_string); };
        const std::string name = function.name == 0 ? "[no name]" : text(profile_.strings.view(function.name));
        const std::string brief = text(short_name(profile_, id));
        const std::string module(module_name(profile_, profile_.strings.view(function.module)));
        if (const auto work = kernel_work(name); function.kind == FrameKind::kernel && !work.empty())
            work_[std::to_string(columns_[0].size())] = work;
        add_row({name, brief == name ? "" : brief, function.kind, role,
                 number_of_file(profile_.strings.view(function.file)), function.line, modules_.add(text(module)),
                 colors_of_.at(color)});
    }
    std::size_t add_other(const std::string& name, unsigned kind, Role role, const std::string& color) {
        add_row({clean_text(name), "", kind, role, files_.add(""), 0, modules_.add(""), colors_of_.at(color)});
        return columns_[0].size() - 1;
    }
    void put(Json& into) const {
        for (std::size_t at = 0; at < names.size(); ++at) into["functions"][names[at]] = columns_[at];
        into["work"] = work_;  // by function: of the kernel's those that tell what for
        into["files"] = files_.list();
        into["here"] = here_;  // of the files those that an editor can open on this machine
        into["modules"] = modules_.list();
    }

private:
    static constexpr std::array names{"name", "short", "kind", "role", "file", "line", "module", "color"};

    std::size_t number_of_file(std::string_view path) {
        const auto [known, is_new] = file_numbers_.try_emplace(std::string(path), 0);
        if (!is_new) return known->second;
        const std::string shown = shorten(clean_text(path), longest_string);
        known->second = files_.add(shown);
        std::error_code not_told;
        if (path.starts_with('/') && shown == path && std::filesystem::is_regular_file(path, not_told))
            here_.push_back(known->second);
        return known->second;
    }
    void add_row(const std::array<Json, names.size()>& row) {
        for (std::size_t at = 0; at < row.size(); ++at) columns_[at].push_back(row[at]);
    }

    const NamedProfile& profile_;
    std::map<std::string, std::size_t> colors_of_;
    Strings files_, modules_;
    std::map<std::string, std::size_t> file_numbers_;
    Json here_ = Json::array();
    Json work_ = Json::object();
    std::array<Json, names.size()> columns_;
};

/// The functions that are in a stack and are shown as themselves, by name.
std::vector<FunctionId> used_functions(const NamedProfile& profile, const std::vector<FunctionId>& shown) {
    std::vector<bool> used(profile.functions.size());
    for (std::size_t node = 1; node < profile.nodes.size(); ++node) used[shown[profile.function_of(node)]] = true;
    const std::vector<std::uint32_t> ranks = ranks_by_name(profile);
    std::vector<FunctionId> list;
    for (FunctionId id = 0; id < used.size(); ++id)
        if (used[id]) list.push_back(id);
    std::ranges::sort(list, [&](FunctionId a, FunctionId b) { return ranks[a] < ranks[b]; });
    return list;
}

/// [number, number of the group] for each thread name in a group.
Json add_thread_groups(const NamedProfile& profile, const std::vector<FunctionId>& used,
                       const std::vector<std::uint32_t>& number_of, const std::vector<Role>& roles,
                       const Palette& palette, Columns& columns) {
    std::set<FunctionId> threads;
    for (const FunctionId id : used)
        if (profile.functions[id].kind == FrameKind::thread) threads.insert(id);
    const auto groups = thread_groups(profile, threads);
    Json merged = Json::array();
    std::map<std::string, std::size_t> numbers;
    for (const FunctionId id : used) {
        const auto group = groups.find(id);
        if (group == groups.end()) continue;
        const auto [number, added] = numbers.try_emplace(group->second, 0);
        if (added)
            number->second = columns.add_other(group->second, static_cast<unsigned>(FrameKind::thread), Role::thread,
                                               palette.class_of(profile, id, roles[id]));
        merged.push_back({number_of[id], number->second});
    }
    return merged;
}

}  // namespace

PageNumbers add_functions(const NamedProfile& profile, const Palette& palette, Json& into) {
    const std::vector<FunctionId> shown = shown_functions(profile);
    const std::vector<FunctionId> used = used_functions(profile, shown);
    const std::vector<Role> roles = function_roles(profile);
    PageNumbers made;
    made.number_of.resize(profile.functions.size());
    Columns columns(profile, palette);
    for (std::uint32_t number = 0; number < used.size(); ++number) {
        made.number_of[used[number]] = number;
        columns.add(used[number], roles[used[number]], palette.class_of(profile, used[number], roles[used[number]]));
    }
    into["all"] = columns.add_other("all", no_kind, Role::note, Palette::plain_class());
    made.gathered =
        static_cast<std::uint32_t>(columns.add_other("[narrow frames]", no_kind, Role::note, Palette::plain_class()));
    into["narrow"] = made.gathered;
    NodeRows rows = node_rows(profile);
    into["rows"] = Json::array();
    into["leads"] = Json::array();
    for (const auto& [call, of, leads_on] : rows.rows) {
        const FunctionId id = of.function;
        const bool of_none = leads_on && roles[id] != Role::kernel;  // no function has this time
        const Role role = of_none ? Role::note : roles[id];
        const FrameKind kind = of_none ? FrameKind::note : role == Role::kernel ? FrameKind::kernel : FrameKind::user;
        into["rows"].push_back(call.empty() ? std::size_t{made.number_of[id]}
                                            : columns.add_other(call, static_cast<unsigned>(kind), role,
                                                                palette.class_of(profile, id, role)));
        if (leads_on) into["leads"].push_back(into["rows"].back());
    }
    made.row_of_node = std::move(rows.of_node);
    into["merged"] = add_thread_groups(profile, used, made.number_of, roles, palette, columns);
    columns.put(into);
    return made;
}

}  // namespace flameprobe
