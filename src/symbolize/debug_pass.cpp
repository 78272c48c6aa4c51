#include "symbolize/debug_pass.hpp"

#include <algorithm>
#include <chrono>

#include "symbolize/parallel.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t small_bytes = std::uint64_t{32} << 20;

}  // namespace

void DebugPass::run(std::vector<ModuleJob>& jobs, SymbolChains& chains) {
    // The modules with the most sampled addresses come first, so that they have their names if time or bytes run out.
    std::vector<ModuleJob*> every, big, small;
    for (ModuleJob& job : jobs) every.push_back(&job);
    std::stable_sort(every.begin(), every.end(),
                     [](const ModuleJob* a, const ModuleJob* b) { return a->locations() > b->locations(); });
    std::size_t elsewhere = all_;
    for (ModuleJob* job : every) {
        if (!is_worth_it(*job)) continue;
        (job->debug_size() > small_bytes ? big : small).push_back(job);
        elsewhere -= job->locations();
    }
    report(elsewhere);
    for (ModuleJob* job : big) run_big(*job, chains);
    run_parallel(workers_, small.size(), [&](std::size_t i) { run_small(*small[i], chains); });
}

void DebugPass::run_big(ModuleJob& job, SymbolChains& chains) {
    if (open(job)) run_parallel(workers_, job.units(), [&](std::size_t unit) { use_unit(job, unit, chains); });
    report(job.locations_outside_units());
    job.close_debug_info();
}

void DebugPass::run_small(ModuleJob& job, SymbolChains& chains) {
    if (open(job))
        for (std::size_t unit = 0; unit < job.units(); ++unit) use_unit(job, unit, chains);
    report(job.locations_outside_units());
    job.close_debug_info();
}

// A program's own lines are what its user looks for. Those of a distribution's libraries are worth a fifth: compilers
// of a tenth of a second would pay for libc's with half as much again.
bool DebugPass::is_worth_it(const ModuleJob& job) {
    const std::uint64_t price = job.debug_size() * (job.has_separate_debug_file() ? 5 : 1);
    if (price > bytes_left_) {
        ++skipped_files_;
        return false;
    }
    bytes_left_ -= price;
    return true;
}

bool DebugPass::open(ModuleJob& job) {
    if (is_over()) return false;
    job.open_debug_info(options_);
    return true;
}

void DebugPass::use_unit(ModuleJob& job, std::size_t unit, SymbolChains& chains) {
    if (!is_over() && !job.use_unit(unit, options_, chains)) late_ = true;
    report(job.locations_in(unit));
}

bool DebugPass::is_over() {
    if (options_.deadline && std::chrono::steady_clock::now() > *options_.deadline) late_ = true;
    return late_;
}

void DebugPass::report(std::size_t locations) {
    if (!options_.progress || locations == 0) return;
    const std::lock_guard lock(mutex_);
    done_ += locations;
    options_.progress(done_, all_);
}

}  // namespace flameprobe
