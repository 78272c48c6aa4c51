#include "symbolize/lock_names.hpp"

#include <map>
#include <optional>

#include "profile/lock_counters.hpp"
#include "symbolize/module.hpp"

namespace flameprobe {
namespace {

/// The last code mapped before an address. A file's variables lie behind its code, before any other file's.
const Mapping* code_before(const std::vector<Mapping>& mappings, std::uint64_t address) {
    const Mapping* last = nullptr;
    for (const Mapping& mapping : mappings)
        if (mapping.kind == MappingKind::file && mapping.start <= address &&
            (last == nullptr || mapping.start > last->start))
            last = &mapping;
    return last;
}

class Variables {
public:
    Variables(const std::vector<Mapping>& mappings, const SymbolizeOptions& options)
        : mappings_(mappings), options_(options) {
        options_.debuginfod = false;
    }

    std::string at(std::uint64_t address) {
        const Mapping* const code = code_before(mappings_, address);
        if (code == nullptr) return {};
        auto& module = modules_[code->path];
        ModuleProblems problems;
        if (!module) module = Module::open(*code, options_, problems);
        return module->variable(*code, address);
    }

private:
    const std::vector<Mapping>& mappings_;
    SymbolizeOptions options_;
    std::map<std::string, std::optional<Module>> modules_;
};

}  // namespace

void name_locks(const std::vector<Mapping>& mappings, const std::vector<Location>& locations,
                const SymbolizeOptions& options, SymbolChains& chains) {
    Variables variables(mappings, options);
    std::map<std::uint64_t, std::string> known;
    for (LocationId id = 0; id < locations.size(); ++id) {
        const auto [mapping, address] = locations[id];
        if (mapping >= mappings.size() || mappings[mapping].kind != MappingKind::note ||
            !is_holder_note(mappings[mapping].path))
            continue;
        const auto [name, is_new] = known.try_emplace(address);
        if (is_new) name->second = variables.at(address);
        chains[id].front().file = lock_file(name->second.empty() ? lock_address(address) : name->second);
    }
}

}  // namespace flameprobe
