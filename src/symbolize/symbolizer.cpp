#include "symbolize/symbolizer.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "symbolize/debug_pass.hpp"
#include "symbolize/module_job.hpp"
#include "symbolize/other_names.hpp"
#include "symbolize/parallel.hpp"

namespace flameprobe {

namespace {

constexpr std::chrono::seconds time_for_debuginfod{60};

constexpr const char* late_warning =
    "time was up before all debug information was read: some names come from symbol tables, without lines and inlined "
    "functions; flameprobe-render on the .fprobe finishes the job";

/// Locations of the same file, whichever mapping they came through.
std::vector<ModuleJob> group_by_module(const std::vector<Mapping>& mappings, const std::vector<Location>& locations) {
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> known;
    std::vector<ModuleJob> jobs;
    for (LocationId id = 0; id < locations.size(); ++id) {
        if (locations[id].mapping >= mappings.size()) continue;
        const Mapping& mapping = mappings[locations[id].mapping];
        if (mapping.kind != MappingKind::file) continue;
        const auto [entry, is_new] = known.try_emplace({mapping.path, mapping.build_id}, jobs.size());
        if (is_new) jobs.emplace_back(mapping);
        jobs[entry->second].add(mapping, locations[id], id);
    }
    return jobs;
}

void name_the_rest(const std::vector<Mapping>& mappings, const std::vector<Location>& locations, OtherNames& others,
                   SymbolChains& chains) {
    const Mapping nowhere;
    for (LocationId id = 0; id < locations.size(); ++id) {
        std::vector<Symbol>& chain = chains[id];
        if (chain.empty()) chain.emplace_back();
        const auto mapping = locations[id].mapping;
        for (Symbol& symbol : chain)
            if (symbol.name.empty())
                symbol.name =
                    others.name(mapping < mappings.size() ? mappings[mapping] : nowhere, locations[id].address);
    }
}

}  // namespace

SymbolChains symbolize(const std::vector<Mapping>& mappings, const std::vector<Location>& locations,
                       const std::vector<std::string>& strings, const SymbolizeOptions& given,
                       std::vector<std::string>& warnings) {
    SymbolizeOptions options = given;
    if (!options.debuginfod_until) options.debuginfod_until = std::chrono::steady_clock::now() + time_for_debuginfod;
    SymbolChains chains(locations.size());
    std::vector<ModuleJob> jobs = group_by_module(mappings, locations);
    const unsigned workers = options.workers != 0 ? options.workers : allowed_cpus();

    DebugPass debug(options, workers, locations.size());
    OtherNames others(strings, options);
    const auto name_files = [&] {
        run_parallel(workers, jobs.size(), [&](std::size_t i) { jobs[i].use_symbol_tables(options, chains); });
        if (options.debug_info) debug.run(jobs, chains);
    };
    run_parallel(workers, 2, [&](std::size_t i) { i == 0 ? name_files() : others.prepare(mappings, locations); });
    if (debug.late()) warnings.push_back(late_warning);
    if (debug.skipped_files() != 0 && options.notes != nullptr)
        options.notes->push_back("without lines and inlined functions of " + std::to_string(debug.skipped_files()) +
                                 (debug.skipped_files() == 1 ? " file" : " files") +
                                 ": reading its debug information takes longer than the program ran "
                                 "(flameprobe-render does it)");

    name_the_rest(mappings, locations, others, chains);
    const auto warn_once = [&](const std::string& warning) {
        if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
    };
    for (const ModuleJob& job : jobs) std::ranges::for_each(job.warnings(chains), warn_once);
    std::ranges::for_each(others.warnings(), warn_once);
    return chains;
}

}  // namespace flameprobe
