#include "symbolize/symbolizer.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

#include "base/work_steps.hpp"
#include "symbolize/module_job.hpp"
#include "symbolize/other_names.hpp"
#include "symbolize/parallel.hpp"

namespace flameprobe {

namespace {

constexpr const char* late_warning =
    "time was up before all debug information was read. Some names come from symbol tables, without lines and inlined "
    "functions. flameprobe-render on the .fprobe finishes the job";

/// Locations of the same file, whichever mapping they came through.
std::vector<ModuleJob> group_by_module(const std::vector<Mapping>& mappings, const std::vector<Location>& locations) {
    std::map<std::tuple<std::string_view, std::string_view, FileIdentity>, std::size_t> known;
    std::vector<ModuleJob> jobs;
    for (LocationId id = 0; id < locations.size(); ++id) {
        if (locations[id].mapping >= mappings.size()) continue;
        const Mapping& mapping = mappings[locations[id].mapping];
        if (mapping.kind != MappingKind::file) continue;
        const auto [entry, is_new] = known.try_emplace({mapping.path, mapping.build_id, mapping.file}, jobs.size());
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

constexpr std::uint64_t small_bytes = std::uint64_t{32} << 20;

/// The part of symbolizing that takes time: reading debug information, module by module, with a clock running.
class DebugPass {
public:
    /// `all`: the number of locations in the whole profile, for the progress report.
    DebugPass(const SymbolizeOptions& options, unsigned workers, std::size_t all)
        : options_(options), workers_(workers), all_(all), bytes_left_(options.most_debug_bytes_in_all) {}

    /// Improves the chains of the jobs' locations as far as time allows. Big modules are read one after the other, each
    /// by all threads, and freed again; then the small ones, each by one thread. So memory is bounded by the biggest
    /// module.
    void run(std::vector<ModuleJob>& jobs, SymbolChains& chains) {
        // The modules with the most sampled addresses come first, so that they have their names if time or bytes run
        // out.
        std::vector<ModuleJob*> every, big, small;
        for (ModuleJob& job : jobs) every.push_back(&job);
        std::ranges::stable_sort(every, std::ranges::greater{}, &ModuleJob::locations);
        std::size_t elsewhere = all_;
        for (ModuleJob* job : every) {
            if (!is_worth_it(*job)) continue;
            (job->debug_size() > small_bytes ? big : small).push_back(job);
            elsewhere -= job->locations();
        }
        report(elsewhere);
        for (ModuleJob* job : big) run(*job, workers_, chains);
        run_parallel(workers_, small.size(), [&](std::size_t i) { run(*small[i], 1, chains); });
    }
    /// The deadline came before the end.
    bool late() const { return late_; }
    /// The number of files that were not read because of SymbolizeOptions::most_debug_bytes_in_all.
    std::size_t skipped_files() const { return skipped_files_; }

private:
    void run(ModuleJob& job, unsigned workers, SymbolChains& chains) {
        if (!is_over()) job.open_debug_info(options_);
        run_parallel(workers, job.units(), [&](std::size_t unit) { use_unit(job, unit, chains); });
        report(job.locations_outside_units());
        job.close_debug_info();
    }
    // A program's own lines are what its user looks for. Those of a distribution's libraries are worth a twentieth: a
    // compiler of a second would pay a tenth more for libc's.
    bool is_worth_it(const ModuleJob& job) {
        const std::uint64_t price = job.debug_size() * (job.has_separate_debug_file() ? 20 : 1);
        if (price > bytes_left_) {
            ++skipped_files_;
            return false;
        }
        bytes_left_ -= price;
        return true;
    }
    void use_unit(ModuleJob& job, std::size_t unit, SymbolChains& chains) {
        if (!is_over() && !job.use_unit(unit, options_, chains)) late_ = true;
        report(job.locations_in(unit));
    }
    bool is_over() {
        if (options_.deadline && std::chrono::steady_clock::now() > *options_.deadline) late_ = true;
        return late_;
    }
    void report(std::size_t locations) {
        work_step_done();
        if (!options_.progress || locations == 0) return;
        const std::lock_guard lock(mutex_);
        done_ += locations;
        options_.progress(done_, all_);
    }

    const SymbolizeOptions& options_;
    unsigned workers_;
    std::size_t all_;
    std::uint64_t bytes_left_;
    std::size_t skipped_files_ = 0;
    std::atomic<bool> late_ = false;
    std::mutex mutex_;  // for done_ and the callback
    std::size_t done_ = 0;
};

}  // namespace

SymbolChains symbolize(const std::vector<Mapping>& mappings, const std::vector<Location>& locations,
                       const std::vector<std::string>& strings, const SymbolizeOptions& options,
                       std::vector<std::string>& warnings) {
    SymbolChains chains(locations.size());
    std::vector<ModuleJob> jobs = group_by_module(mappings, locations);
    const unsigned workers = options.workers != 0 ? options.workers : allowed_cpus();

    DebugPass debug(options, workers, locations.size());
    OtherNames others(strings, options);
    const auto name_files = [&] {
        run_parallel(workers, jobs.size(), [&](std::size_t i) { jobs[i].use_symbol_tables(options, chains); });
        debug.run(jobs, chains);
    };
    run_parallel(workers, 2, [&](std::size_t i) { i == 0 ? name_files() : others.prepare(mappings, locations); });
    if (debug.late()) warnings.push_back(late_warning);
    if (debug.skipped_files() != 0 && options.notes != nullptr)
        options.notes->push_back("without lines and inlined functions of " + std::to_string(debug.skipped_files()) +
                                 (debug.skipped_files() == 1 ? " file" : " files") +
                                 ": reading its debug information takes long beside so short a run "
                                 "(flameprobe-render does it)");

    name_the_rest(mappings, locations, others, chains);
    name_locks(mappings, locations, options, chains);
    const auto warn_once = [&](const std::string& warning) {
        if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
    };
    for (const ModuleJob& job : jobs) std::ranges::for_each(job.warnings(chains), warn_once);
    std::ranges::for_each(others.warnings(), warn_once);
    return chains;
}

}  // namespace flameprobe
