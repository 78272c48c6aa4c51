// The part of symbolizing that takes time: reading debug information, module by module, with a clock running.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "symbolize/module_job.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

class DebugPass {
public:
    /// `all`: the number of locations in the whole profile, for the progress report.
    DebugPass(const SymbolizeOptions& options, unsigned workers, std::size_t all)
        : options_(options), workers_(workers), all_(all), bytes_left_(options.most_debug_bytes_in_all) {}

    /// Improves the chains of the jobs' locations as far as time allows. Big modules are read one after the other, each
    /// by all threads, and freed again; then the small ones, each by one thread. So memory is bounded by the biggest
    /// module.
    void run(std::vector<ModuleJob>& jobs, SymbolChains& chains);
    /// The deadline came before the end.
    bool late() const { return late_; }
    /// The number of files that were not read because of SymbolizeOptions::most_debug_bytes_in_all.
    std::size_t skipped_files() const { return skipped_files_; }

private:
    void run_big(ModuleJob& job, SymbolChains& chains);
    void run_small(ModuleJob& job, SymbolChains& chains);
    /// False if time or memory is up.
    bool open(ModuleJob& job);
    bool is_worth_it(const ModuleJob& job);
    void use_unit(ModuleJob& job, std::size_t unit, SymbolChains& chains);
    bool is_over();
    void report(std::size_t locations);

    const SymbolizeOptions& options_;
    unsigned workers_;
    std::size_t all_;
    std::uint64_t bytes_left_;
    std::size_t skipped_files_ = 0;
    std::atomic<bool> late_ = false;
    std::mutex mutex_;  // for done_ and the callback
    std::size_t done_ = 0;
};

}  // namespace flameprobe
