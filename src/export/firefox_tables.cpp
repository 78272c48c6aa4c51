#include "export/firefox_tables.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "base/binary_text.hpp"
#include "base/paths.hpp"
#include "export/text.hpp"

namespace flameprobe {

namespace {

/// Breakpad's form of a build id: its first 16 bytes as a GUID, whose first three fields are little-endian, and an age
/// of 0.
std::string breakpad_id(std::string build_id) {
    if (build_id.empty()) return "";
    build_id.resize(16);
    std::reverse(build_id.begin(), build_id.begin() + 4);
    std::reverse(build_id.begin() + 4, build_id.begin() + 6);
    std::reverse(build_id.begin() + 6, build_id.begin() + 8);
    return hex_text(build_id, upper_case_digits) + '0';
}

}  // namespace

FirefoxFuncs::FirefoxFuncs(const NamedProfile& profile) {
    std::map<std::tuple<StringId, StringId, StringId, FrameKind>, std::uint32_t> ids;
    for (const Function& function : profile.functions) {
        const FrameKind kind = function.kind == FrameKind::inlined ? FrameKind::user : function.kind;
        const auto [entry, is_new] = ids.try_emplace({function.name, function.file, function.module, kind},
                                                     static_cast<std::uint32_t>(all.size()));
        if (is_new) all.push_back(function);
        of_function.push_back(entry->second);
    }
}

FirefoxFiles::FirefoxFiles(const NamedProfile& profile, NumberedStrings& strings)
    : architecture_(architecture(profile.run)) {
    std::unordered_map<std::string_view, std::string_view> build_ids;
    for (const Mapping& mapping : profile.mappings)
        if (!mapping.build_id.empty()) build_ids.try_emplace(mapping.path, mapping.build_id);
    for (const Function& function : profile.functions) {
        if (function.module != 0 &&
            library_ids_.try_emplace(function.module, static_cast<std::uint32_t>(libraries_.size())).second) {
            const std::string_view module = profile.strings.view(function.module);
            const auto build_id = build_ids.find(module);
            const std::string path = one_line(module);
            libraries_.push_back({path, build_id == build_ids.end() ? "" : std::string(build_id->second),
                                  strings.id(std::string(base_name(path)))});
        }
        if (function.file != 0 &&
            source_ids_.try_emplace(function.file, static_cast<std::uint32_t>(sources_.size())).second)
            sources_.push_back(strings.id(one_line(profile.strings.view(function.file))));
    }
}

std::optional<std::uint32_t> FirefoxFiles::library(const Function& function) const {
    const auto found = library_ids_.find(function.module);
    return found == library_ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> FirefoxFiles::source(const Function& function) const {
    const auto found = source_ids_.find(function.file);
    return found == source_ids_.end() ? std::nullopt : std::optional(found->second);
}

void FirefoxFiles::write_libs(JsonStream& json) const {
    json.array(libraries_, [&](const Library& library) {
        const std::string name(base_name(library.path));
        json.begin_object().key("arch").text(architecture_).key("name").text(name).key("path").text(library.path);
        json.key("debugName").text(name).key("debugPath").text(library.path);
        json.key("breakpadId").text(breakpad_id(library.build_id)).key("codeId");
        library.build_id.empty() ? json.null() : json.text(hex_text(library.build_id));
        json.end_object();
    });
}

void FirefoxFiles::write_resource_table(JsonStream& json) const {
    constexpr std::uint64_t type_library = 1;
    std::uint32_t lib = 0;
    json.begin_object().key("length").number(libraries_.size());
    json.key("lib").array(libraries_, [&](const Library&) { json.number(lib++); });
    json.key("name").array(libraries_, [&](const Library& library) { json.number(library.name); });
    json.key("host").repeat(libraries_.size(), [&] { json.null(); });
    json.key("type").repeat(libraries_.size(), [&] { json.number(type_library); });
    json.end_object();
}

void FirefoxFiles::write_sources(JsonStream& json) const {
    const auto nulls = [&] { json.null(); };
    const auto ones = [&] { json.number(1); };
    json.begin_object().key("length").number(sources_.size());
    json.key("id").repeat(sources_.size(), nulls);
    json.key("filename").array(sources_, [&](std::uint64_t name) { json.number(name); });
    json.key("startLine").repeat(sources_.size(), ones).key("startColumn").repeat(sources_.size(), ones);
    json.key("sourceMapURL").repeat(sources_.size(), nulls).key("content").repeat(sources_.size(), nulls);
    json.end_object();
}

}  // namespace flameprobe
