// The tables that all threads of a Firefox profile share, beside the strings: functions, libraries, source files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/binary_text.hpp"
#include "base/paths.hpp"
#include "export/json_stream.hpp"
#include "export/protobuf.hpp"
#include "export/text.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Breakpad's form of a build id: its first 16 bytes as a GUID, whose first three fields are little-endian, and an age
/// of 0.
inline std::string breakpad_id(std::string build_id) {
    if (build_id.empty()) return "";
    build_id.resize(16);
    std::reverse(build_id.begin(), build_id.begin() + 4);
    std::reverse(build_id.begin() + 4, build_id.begin() + 6);
    std::reverse(build_id.begin() + 6, build_id.begin() + 8);
    return hex_text(build_id, upper_case_digits) + '0';
}

/// One func for each function, inlined or not, so that a recursion through both kinds of frames counts once.
struct FirefoxFuncs {
    explicit FirefoxFuncs(const NamedProfile& profile) {
        std::map<std::tuple<StringId, StringId, StringId, FrameKind>, std::uint32_t> ids;
        for (const Function& function : profile.functions) {
            const FrameKind kind = function.kind == FrameKind::inlined ? FrameKind::user : function.kind;
            const auto [entry, is_new] = ids.try_emplace({function.name, function.file, function.module, kind},
                                                         static_cast<std::uint32_t>(all.size()));
            if (is_new) all.push_back(function);
            of_function.push_back(entry->second);
        }
    }

    std::vector<Function> all;
    std::vector<std::uint32_t> of_function;  // index into `all`
};

/// Libraries, source files, and a resource for each library, which has the library's number.
class FirefoxFiles {
public:
    FirefoxFiles(const NamedProfile& profile, NumberedStrings& strings) : architecture_(architecture(profile.run)) {
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
    /// Nothing for a function that is in no file.
    std::optional<std::uint32_t> library(const Function& function) const {
        const auto found = library_ids_.find(function.module);
        return found == library_ids_.end() ? std::nullopt : std::optional(found->second);
    }
    std::optional<std::uint32_t> source(const Function& function) const {
        const auto found = source_ids_.find(function.file);
        return found == source_ids_.end() ? std::nullopt : std::optional(found->second);
    }

    void write_libs(JsonStream& json) const {
        json.array(libraries_, [&](const Library& library) {
            const std::string name(base_name(library.path));
            json.begin_object().key("arch").text(architecture_).key("name").text(name).key("path").text(library.path);
            json.key("debugName").text(name).key("debugPath").text(library.path);
            json.key("breakpadId").text(breakpad_id(library.build_id)).key("codeId");
            library.build_id.empty() ? json.null() : json.text(hex_text(library.build_id));
            json.end_object();
        });
    }
    void write_resource_table(JsonStream& json) const {
        constexpr std::uint64_t type_library = 1;
        std::uint32_t lib = 0;
        json.begin_object().key("length").number(libraries_.size());
        json.key("lib").array(libraries_, [&](const Library&) { json.number(lib++); });
        json.key("name").array(libraries_, [&](const Library& library) { json.number(library.name); });
        json.key("host").repeat(libraries_.size(), [&] { json.null(); });
        json.key("type").repeat(libraries_.size(), [&] { json.number(type_library); });
        json.end_object();
    }
    void write_sources(JsonStream& json) const {
        const auto nulls = [&] { json.null(); };
        const auto ones = [&] { json.number(1); };
        json.begin_object().key("length").number(sources_.size());
        json.key("id").repeat(sources_.size(), nulls);
        json.key("filename").array(sources_, [&](std::uint64_t name) { json.number(name); });
        json.key("startLine").repeat(sources_.size(), ones).key("startColumn").repeat(sources_.size(), ones);
        json.key("sourceMapURL").repeat(sources_.size(), nulls).key("content").repeat(sources_.size(), nulls);
        json.end_object();
    }

private:
    struct Library {
        std::string path;
        std::string build_id;  // raw bytes
        std::uint64_t name = 0;
    };

    std::string architecture_;
    std::unordered_map<StringId, std::uint32_t> library_ids_;
    std::vector<Library> libraries_;
    std::unordered_map<StringId, std::uint32_t> source_ids_;
    std::vector<std::uint64_t> sources_;  // file names
};

}  // namespace flameprobe
