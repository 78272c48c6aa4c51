#include "export/pprof_mappings.hpp"

#include <algorithm>

#include "export/text.hpp"

namespace flameprobe {

namespace {

std::string hex(const std::string& bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

bool is_code(MappingKind kind) {
    return kind == MappingKind::kernel || kind == MappingKind::file || kind == MappingKind::vdso ||
           kind == MappingKind::anonymous;
}

std::string file_of(const Mapping& mapping) {
    if (mapping.kind == MappingKind::kernel) return mapping.path.empty() ? "[kernel.kallsyms]" : mapping.path;
    if (mapping.kind == MappingKind::vdso) return "[vdso]";
    return mapping.path;
}

}  // namespace

PprofMappings::PprofMappings(const NamedProfile& profile) : profile_(profile) {
    if (!profile.has_run) return;
    const auto& all = profile.mappings;
    const auto main = std::find_if(all.begin(), all.end(), [&](const Mapping& mapping) {
        return mapping.kind == MappingKind::file && mapping.path == profile.run.executable;
    });
    if (main != all.end())
        add(static_cast<MappingId>(main - all.begin()));
    else if (!profile.run.executable.empty())
        named(profile.run.executable);
}

std::uint64_t PprofMappings::of(const NamedFrame& frame) {
    if (frame.location < profile_.locations.size()) {
        const MappingId id = profile_.locations[frame.location].mapping;
        if (id < profile_.mappings.size() && is_code(profile_.mappings[id].kind)) return add(id);
        return 0;
    }
    const StringId module = profile_.functions[frame.function].module;
    return module == 0 ? 0 : named(std::string(profile_.strings.view(module)));
}

std::uint64_t PprofMappings::address_of(const NamedFrame& frame) const {
    if (frame.location >= profile_.locations.size()) return 0;
    const Location& location = profile_.locations[frame.location];
    if (location.mapping >= profile_.mappings.size()) return 0;
    const MappingKind kind = profile_.mappings[location.mapping].kind;
    // The address of a note or scope is a number of ours.
    return is_code(kind) || kind == MappingKind::unknown ? location.address : 0;
}

std::uint64_t PprofMappings::add(MappingId id) {
    const auto [entry, is_new] = by_id_.try_emplace(id, mappings_.size() + 1);
    if (is_new) {
        const Mapping& mapping = profile_.mappings[id];
        mappings_.push_back({one_line(file_of(mapping)), hex(mapping.build_id), mapping.start,
                             mapping.start + mapping.size, mapping.file_offset});
        by_file_.try_emplace(mapping.path, entry->second);
    }
    return entry->second;
}

std::uint64_t PprofMappings::named(const std::string& file) {
    const auto [entry, is_new] = by_file_.try_emplace(file, mappings_.size() + 1);
    if (is_new) mappings_.push_back({one_line(file), {}, 0, 0, 0});
    return entry->second;
}

}  // namespace flameprobe
