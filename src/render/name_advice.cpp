#include <algorithm>
#include <array>
#include <vector>

#include "base/paths.hpp"
#include "profile/names.hpp"
#include "render/function_totals.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

namespace {

struct Language {
    std::string_view name;
    std::string_view file;         // how the name of the program, or of a library of its own, begins
    std::string_view interpreter;  // how the names of its interpreter's functions begin
    std::string_view advice;
};

constexpr std::string_view java =
    "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (17 and later)";

// docs/troubleshooting.md has the same.
constexpr std::array languages = {
    Language{"JavaScript", "node", "Builtins_InterpreterEntryTrampoline",
             "node --perf-basic-prof --interpreted-frames-native-stack"},
    Language{"Java", "java", "Interpreter", java},
    Language{"Java", "libjvm.so", "Interpreter", java},
    Language{"Python", "python3", "_PyEval_EvalFrameDefault", "python3 -X perf (3.12 and later)"},
    Language{"Python", "libpython3", "_PyEval_EvalFrameDefault", "PYTHONPERFSUPPORT=1 (3.12 and later)"},
    Language{"LuaJIT", "luajit", "lj_BC_", "a LuaJIT built with -DLUAJIT_USE_PERFTOOLS"},
    Language{"LuaJIT", "libluajit", "lj_BC_", "a LuaJIT built with -DLUAJIT_USE_PERFTOOLS"},
    Language{".NET", "dotnet", "", "DOTNET_PerfMapEnabled=1"},
    Language{".NET", "libcoreclr.so", "", "DOTNET_PerfMapEnabled=1"},
};

const Language* language_of(const NamedProfile& profile) {
    std::vector<std::string_view> files{base_name(profile.run.executable)};
    for (const Mapping& mapping : profile.mappings) files.push_back(base_name(mapping.path));
    for (const Language& language : languages)
        if (std::ranges::any_of(files, [&](auto file) { return file.starts_with(language.file); })) return &language;
    return nullptr;
}

}  // namespace

NamesFlag names_flag(std::string_view program) {
    for (const Language& language : languages)
        if (program.starts_with(language.file)) return {language.name, language.advice};
    return {};
}

bool may_lack_names(const NamedProfile& profile) { return language_of(profile) != nullptr; }

std::string name_advice(const NamedProfile& profile) {
    const Language* language = language_of(profile);
    if (language == nullptr) return {};
    std::vector<bool> nameless(profile.functions.size());
    for (FunctionId id = 0; id < nameless.size(); ++id) {
        const Function& function = profile.functions[id];
        const std::string_view name = profile.strings.view(function.name);
        const std::string_view module = profile.strings.view(function.module);
        const bool made = function.kind == FrameKind::user && (module.empty() || module == "//anon");
        const bool unnamed = name.starts_with("0x") || name == nameless_jit_code;
        if (made && !unnamed) return {};  // the names are there already
        nameless[id] = (made && unnamed) || (!language->interpreter.empty() && name.starts_with(language->interpreter));
    }
    std::vector<bool> below(profile.nodes.size());
    for (NodeId id = 1; id < below.size(); ++id)
        below[id] = below[profile.nodes[id].parent] || nameless[profile.function_of(id)];
    const std::uint64_t all = total_weight(profile);
    std::uint64_t part = 0;
    for (const NamedCount& count : profile.counts)
        if (below[count.node]) part = add_saturated(part, count.weight);
    if (part <= all / 10) return {};
    return round_share(static_cast<double>(part), static_cast<double>(all)) + " of the time is in or below " +
           std::string(language->name) + " functions without names; with names: " + std::string(language->advice);
}

}  // namespace flameprobe
