#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/paths.hpp"
#include "base/proc.hpp"
#include "symbolize/debug_image.hpp"
#include "symbolize/dwarf_walk.hpp"
#include "symbolize/elf_file.hpp"
#include "symbolize/load_steps.hpp"

namespace flameprobe {

namespace {

/// What compilers and linkers left in .comment: zero-terminated texts.
std::string compilers_of(const ElfFile& file) {
    if (file.contents_size(".comment") > 65536) return {};
    std::string list;
    for (const std::string_view one : parts_of_list(as_text(file.contents(".comment")), '\0'))
        if (!one.empty()) list += (list.empty() ? "" : ", ") + std::string(one);
    return list;
}

bool is_what_ran(const ElfFile& file, const RunInfo& run, const Mapping* executable) {
    if (executable != nullptr && !executable->build_id.empty()) return file.build_id() == executable->build_id;
    const FileIdentity found = file.bytes().identity();
    if (executable == nullptr || !executable->file.known()) return found.time_ns <= run.start_unix_ns;
    return found.inode == executable->file.inode && found.size == executable->file.size &&
           found.time_ns == executable->file.time_ns;
}

/// Null if it is not there, or not what ran.
std::unique_ptr<ElfFile> program_of(const RunInfo& run, const Mapping* executable) {
    if (!run.place.empty() && run.place != place_of("/proc/self")) return nullptr;
    auto file = ElfFile::open(run.executable);
    return file && is_what_ran(**file, run, executable) ? std::move(*file) : nullptr;
}

constexpr std::size_t most_units = 20'000, most_sets = 6;
constexpr std::uint64_t most_bytes = 4 << 20;

bool decides_code(std::string_view option) {
    if (option.size() < 3 || option[0] != '-' || std::string_view("Ofm").find(option[1]) == std::string_view::npos)
        return false;
    return option.find("-prefix-map=") == std::string_view::npos;  // paths
}

/// The options of a command line that decide what code is made, each once.
std::string flags_in(std::string_view text) {
    using namespace std::string_view_literals;
    std::vector<std::string_view> options;
    std::string flags;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" \0"sv, begin), text.size());
        const std::string_view option = text.substr(begin, end - begin);
        begin = end + 1;
        if (!decides_code(option) || std::ranges::find(options, option) != options.end()) continue;
        options.push_back(option);
        flags += (flags.empty() ? "" : " ") + std::string(option);
    }
    return flags;
}

/// The number of units compiled with each set of options.
std::map<std::string, std::size_t> flags_of_units(const ElfFile& file) {
    std::map<std::string, std::size_t> units;
    const DebugImage image = DebugImage::of(file);
    const DwarfOwner dwarf = begin_dwarf(image);
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    for (std::size_t at = 0; dwarf && at < most_units; ++at) {
        if (::dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) != 0) break;
        const char* const producer = text_of(die, DW_AT_producer);
        if (producer == nullptr) continue;
        if (std::string flags = flags_in(producer); !flags.empty()) ++units[std::move(flags)];
    }
    return units;
}

/// The options that decide what code a compiler makes (-O2, -march=..., -f...), as units of the debug information tell
/// them (DW_AT_producer), the most frequent first, or as -frecord-gcc-switches kept them. Empty if the file has
/// neither, or if reading it would take too much memory. Throws std::bad_alloc.
std::string build_flags(const ElfFile& file) {
    std::map<std::string, std::size_t> units;
    if (DebugImage::size_of(file) <= most_bytes) units = flags_of_units(file);
    if (units.empty()) {
        if (file.contents_size(".GCC.command.line") > most_bytes) return {};
        return flags_in(as_text(file.contents(".GCC.command.line")));
    }
    std::vector<std::pair<std::string, std::size_t>> sets(units.begin(), units.end());
    std::ranges::stable_sort(sets, std::ranges::greater{}, [](const auto& set) { return set.second; });
    if (sets.size() == 1) return sets.front().first;
    std::string text;
    for (std::size_t at = 0; at < std::min(sets.size(), most_sets); ++at) {
        text += (at == 0 ? "" : "; ") + sets[at].first + " (" + std::to_string(sets[at].second) +
                (sets[at].second == 1 ? " unit)" : " units)");
    }
    if (sets.size() > most_sets) text += "; and " + std::to_string(sets.size() - most_sets) + " more";
    return text;
}

}  // namespace

bool add_build_facts(RunInfo& run, const Mapping* executable) {
    const auto place = [&run](std::string_view name) { return std::ranges::find(run.facts, name, &RunFact::name); };
    const auto behind = place("dirty");
    if (behind == run.facts.end() || place("compilers") != run.facts.end()) return false;
    const auto file = program_of(run, executable);
    if (!file) return false;
    const std::string compilers = compilers_of(*file), flags = build_flags(*file);
    run.facts.insert(behind + 1, {{"compilers", compilers.empty() ? "not known" : compilers},
                                  {"optimisation flags", flags.empty() ? "not recorded" : flags}});
    return true;
}

}  // namespace flameprobe
