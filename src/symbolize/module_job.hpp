// All sampled addresses of one ELF file on their way to names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "profile/model.hpp"
#include "profile/names.hpp"
#include "symbolize/debug_info.hpp"
#include "symbolize/demangle.hpp"
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
    void use_symbol_tables(const SymbolizeOptions& options, SymbolChains& chains) {
        module_ = Module::open(*mapping_, options, problems_);
        to_file_addresses();
        module_.load_symbols(file_addresses());
        const ElfSymbol* last = nullptr;
        std::string name;
        for (const Wanted& wanted : wanted_) {
            const ElfSymbol* symbol = module_.symbols().find(wanted.address);
            if (symbol == nullptr || !symbol->sized) {
                // The end of a symbol without a size is a guess: a function that starts after the symbol, by the unwind
                // tables, is another one.
                const auto function = module_.functions().find(wanted.address);
                if (function && symbol == nullptr) symbol = module_.symbols().starting_at(function->start);
                if (function && (symbol == nullptr || symbol->start < function->start)) {
                    chains[wanted.id].assign(1, {});
                    chains[wanted.id].back().name = module_.is_thread_start(function->start)
                                                        ? thread_start_name
                                                        : function_at(mapping_->path, function->start);
                    continue;
                }
            }
            if (symbol == nullptr) continue;
            if (symbol != last) name = demangle(symbol->name);
            last = symbol;
            Symbol named;
            named.name = name;
            chains[wanted.id].assign(1, std::move(named));
        }
        if (!problems_.replaced) return;
        for (const LocationId id : ids_) {
            if (!chains[id].empty()) continue;
            chains[id].emplace_back().name = unknown_in_replaced(mapping_->path);
        }
    }
    std::size_t locations() const { return ids_.size(); }

    // After use_symbol_tables:
    std::uint64_t debug_size() const { return module_.debug_size(); }
    bool has_separate_debug_file() const { return module_.has_separate_debug_file(); }
    /// Reads the heads of the units.
    void open_debug_info(const SymbolizeOptions& options) try {
        const ElfFile* file = module_.debug_file();
        if (file == nullptr || wanted_.empty()) return;
        debug_info_ = std::make_unique<DebugInfo>(mapping_->path, *file, debug_search(options));
        units_ = debug_info_->find_units(file_addresses());
    } catch (const std::bad_alloc&) {
        units_.clear();
        warnings_.push_back(mapping_->path + ": there was not enough memory to read its debug information");
    }
    /// Frees what open_debug_info() read; units() stays as it is.
    void close_debug_info() {
        if (debug_info_) std::ranges::move(debug_info_->warnings(), std::back_inserter(warnings_));
        debug_info_.reset();
        module_ = Module();
    }
    std::size_t units() const { return units_.size(); }
    std::size_t locations_in(std::size_t unit) const { return units_[unit].indices.size(); }
    std::size_t locations_outside_units() const {
        std::size_t inside = 0;
        for (const UnitHits& unit : units_) inside += unit.indices.size();
        return ids_.size() - inside;
    }
    /// Gives locations their names from one of the units. Any thread, each unit once. False if the deadline passed
    /// before. If memory runs out, the names from the symbol tables stay.
    bool use_unit(std::size_t index, const SymbolizeOptions& options, SymbolChains& chains) const try {
        const UnitHits& unit = units_[index];
        std::vector<std::uint64_t> addresses;
        addresses.reserve(unit.indices.size());
        for (const std::uint32_t i : unit.indices) addresses.push_back(wanted_[i].address);
        auto found = debug_info_->describe(unit, addresses, module_.symbols(), options.deadline);
        if (!found) return false;
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            std::vector<Symbol>& chain = (*found)[i];
            std::vector<Symbol>& known = chains[wanted_[unit.indices[i]].id];
            if (chain.empty()) continue;
            if (chain.back().name.empty() && !known.empty()) chain.back().name = known.front().name;
            known = std::move(chain);
        }
        return true;
    } catch (const std::bad_alloc&) {
        return true;
    }

    /// Warnings, given the final names: a missing file matters only if names are missing, and not for a JIT's memfd
    /// with a perf map.
    std::vector<std::string> warnings(const SymbolChains& chains) const {
        std::vector<std::string> all = warnings_;
        const auto unnamed = [&](LocationId id) { return is_stand_in(chains[id].back().name); };
        if (!problems_.file.empty() && std::ranges::any_of(ids_, unnamed)) all.push_back(problems_.file);
        if (!problems_.debuginfod.empty()) all.push_back(problems_.debuginfod);
        return all;
    }

private:
    struct Wanted {
        const Mapping* mapping;
        std::uint64_t address;  // in the process at first, then in the file
        LocationId id;
    };

    void to_file_addresses() {
        std::vector<Wanted> inside;
        inside.reserve(wanted_.size());
        for (const Wanted& wanted : wanted_)
            if (const auto address = module_.file_address(*wanted.mapping, wanted.address))
                inside.push_back({wanted.mapping, *address, wanted.id});
        std::ranges::sort(inside, {}, &Wanted::address);
        wanted_ = std::move(inside);
    }
    /// Sorted.
    std::vector<std::uint64_t> file_addresses() const {
        std::vector<std::uint64_t> addresses;
        addresses.reserve(wanted_.size());
        for (const Wanted& wanted : wanted_) addresses.push_back(wanted.address);
        return addresses;
    }

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
