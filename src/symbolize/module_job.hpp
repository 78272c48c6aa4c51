// All sampled addresses of one ELF file on their way to names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/debug_info.hpp"
#include "symbolize/module.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

class ModuleJob {
public:
    /// `mapping` names the file, and must outlive the job.
    explicit ModuleJob(const Mapping& mapping) : mapping_(&mapping) {}
    void add(const Mapping& mapping, const Location& location, LocationId id) {
        wanted_.push_back({&mapping, location.address, id});
        ids_.push_back(id);
    }

    /// Opens the file and gives locations their names from its symbol tables; each location has its place in `chains`.
    void use_symbol_tables(const SymbolizeOptions& options, SymbolChains& chains);
    std::size_t locations() const { return ids_.size(); }

    // After use_symbol_tables:
    std::uint64_t debug_size() const { return module_.debug_size(); }
    bool has_separate_debug_file() const { return module_.has_separate_debug_file(); }
    /// Reads the heads of the units, unless that would take more memory than the options allow.
    void open_debug_info(const SymbolizeOptions& options);
    /// Frees what open_debug_info() read; units() stays as it is.
    void close_debug_info();
    std::size_t units() const { return units_.size(); }
    std::size_t locations_in(std::size_t unit) const { return units_[unit].indices.size(); }
    std::size_t locations_outside_units() const;
    /// Gives locations their names from one of the units. Any thread, each unit once. False if the deadline passed
    /// before. If memory runs out, the names from the symbol tables stay.
    bool use_unit(std::size_t unit, const SymbolizeOptions& options, SymbolChains& chains) const;

    /// Warnings, given the final names: a missing file matters only if names are missing, and not for a JIT's memfd
    /// with a perf map.
    std::vector<std::string> warnings(const SymbolChains& chains) const;

private:
    struct Wanted {
        const Mapping* mapping;
        std::uint64_t address;  // in the process at first, then in the file
        LocationId id;
    };

    void to_file_addresses();
    std::vector<std::uint64_t> file_addresses() const;  // sorted

    const Mapping* mapping_;
    std::vector<Wanted> wanted_;
    std::vector<LocationId> ids_;
    Module module_;
    std::unique_ptr<DebugInfo> debug_info_;
    std::vector<UnitHits> units_;
    ModuleProblems problems_;
    std::vector<std::string> warnings_;
};

}  // namespace flameprobe
