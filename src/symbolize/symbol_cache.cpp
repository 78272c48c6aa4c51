#include "symbolize/symbol_cache.hpp"

#include <array>
#include <map>
#include <set>
#include <utility>

#include "outside/byte_stream.hpp"
#include "outside/reader.hpp"
#include "symbolize/load_steps.hpp"
#include "symbolize/parallel.hpp"

namespace flameprobe {

namespace {

std::string to_text(const FileIdentity& file) {
    if (!file.known()) return {};
    std::string text;
    for (const std::uint64_t part : {file.device, file.inode, file.size, file.time_ns})
        text += std::to_string(part) + ' ';
    return text;
}

}  // namespace

std::optional<std::string> SymbolCache::file_key(const Mapping& mapping, const SymbolizeOptions& options) {
    if (mapping.kind == MappingKind::file && mapping.build_id.empty() && !options.same_place) return std::nullopt;
    if (mapping.kind == MappingKind::file) return mapping.path + '\0' + mapping.build_id + '\0' + to_text(mapping.file);
    if (mapping.kind == MappingKind::kernel && options.same_boot) return std::string();
    return std::nullopt;
}

std::uint64_t SymbolCache::offset_of(const Mapping& mapping, std::uint64_t address) {
    return mapping.kind == MappingKind::kernel ? address : address - mapping.start + mapping.file_offset;
}

std::optional<std::vector<Symbol>> SymbolCache::find(const Mapping& mapping, std::uint64_t address,
                                                     const SymbolizeOptions& options) const {
    const auto key = file_key(mapping, options);
    const auto file = key ? files_.find(*key) : files_.end();
    if (file == files_.end()) return std::nullopt;
    const auto entry = file->second.find(offset_of(mapping, address));
    if (entry == file->second.end()) return std::nullopt;
    std::vector<Symbol> symbols;
    for (std::uint32_t i = 0; i < entry->second.size; ++i) {
        const ArchivedSymbol& from = symbols_[entry->second.begin + i];
        symbols.push_back({std::string(strings_.view(from.name)), std::string(strings_.view(from.file)), from.line,
                           from.decl_line, from.inlined});
    }
    return symbols;
}

void SymbolCache::add(const Mapping& mapping, std::uint64_t address, const SymbolizeOptions& options,
                      const std::vector<Symbol>& symbols) {
    const auto key = file_key(mapping, options);
    if (!key) return;
    const Entry entry{static_cast<std::uint32_t>(symbols_.size()), static_cast<std::uint32_t>(symbols.size())};
    if (!files_[*key].try_emplace(offset_of(mapping, address), entry).second) return;
    for (const Symbol& symbol : symbols) {
        symbols_.push_back({strings_.intern(symbol.name), strings_.intern(symbol.file), symbol.line, symbol.decl_line,
                            symbol.inlined});
    }
}

namespace {

/// The distinct code addresses of several profiles.
class CodeAddresses {
public:
    void add(const Mapping& mapping, const std::set<std::uint64_t>& addresses) {
        std::set<std::uint64_t>& known = known_[{mapping.path, mapping.build_id}];
        const auto id = static_cast<MappingId>(mappings.size());
        bool needed = false;
        for (const std::uint64_t address : addresses) {
            if (!known.insert(address - mapping.start + mapping.file_offset).second) continue;
            locations.push_back({id, address});
            needed = true;
        }
        if (needed) mappings.push_back(mapping);
    }

    std::vector<Mapping> mappings;
    std::vector<Location> locations;

private:
    std::map<std::pair<std::string, std::string>, std::set<std::uint64_t>> known_;  // offsets in a file
};

class CodeOnly final : public PartialSink {
public:
    void run(const RunInfo& info) override { run_ = info; }
    void mapping(MappingId /*id*/, const Mapping& mapping) override { mappings_.push_back(mapping); }
    void location(LocationId /*id*/, const Location& location) override { locations_.push_back(location); }
    void symbols(LocationId id, const std::vector<ArchivedSymbol>& /*symbols*/) override { named_.insert(id); }

    /// `files`: null if their paths mean other files here. `kernel`: null if another kernel ran then.
    void add_to(CodeAddresses* files, CodeAddresses* kernel) const {
        std::map<MappingId, std::set<std::uint64_t>> addresses;
        for (LocationId id = 0; id < locations_.size(); ++id) {
            const MappingId in = locations_[id].mapping;
            if (in >= mappings_.size() || named_.contains(id)) continue;
            const Mapping& mapping = mappings_[in];
            const bool in_kernel = mapping.kind == MappingKind::kernel;
            if (!in_kernel && (mapping.kind != MappingKind::file || mapping.build_id.empty())) continue;
            addresses[in].insert(locations_[id].address);
        }
        for (const auto& [in, of_mapping] : addresses)
            if (CodeAddresses* const all = mappings_[in].kind == MappingKind::kernel ? kernel : files)
                all->add(mappings_[in], of_mapping);
    }
    const RunInfo& run_info() const { return run_; }

private:
    RunInfo run_;
    std::vector<Mapping> mappings_;
    std::vector<Location> locations_;
    std::set<LocationId> named_;
};

}  // namespace

std::vector<std::string> learn_names(const std::vector<std::string>& paths, const SymbolizeOptions& options,
                                     SymbolCache& cache) {
    CodeAddresses files, kernel;
    for (const std::string& path : paths) {
        auto source = ByteSource::open(path);
        const auto binary = source ? is_profile(*source) : source.error();
        for (bool more = binary && *binary; more;) {
            CodeOnly code;
            if (!read_profile(*source, code)) break;
            const SymbolizeOptions of_run = with_provenance(options, code.run_info());
            code.add_to(of_run.same_place && !of_run.root ? &files : nullptr, of_run.same_boot ? &kernel : nullptr);
            const auto follows = has_more(*source);
            more = follows && *follows;
        }
    }
    struct Part {
        const CodeAddresses& code;
        SymbolizeOptions how;
        SymbolChains chains{};
        std::vector<std::string> warnings{};
    };
    std::array<Part, 2> parts{Part{files, options}, Part{kernel, options}};
    parts[1].how.same_boot = true;
    // The kernel writes its list of symbols as slowly as debug information is read.
    run_parallel(options.workers != 0 ? options.workers : allowed_cpus(), parts.size(), [&](std::size_t i) {
        Part& part = parts[i];
        if (!part.code.locations.empty())
            part.chains = symbolize(part.code.mappings, part.code.locations, {}, part.how, part.warnings);
    });
    std::vector<std::string> warnings;
    for (const Part& part : parts) {
        for (LocationId id = 0; id < part.chains.size(); ++id) {
            const Location& location = part.code.locations[id];
            cache.add(part.code.mappings[location.mapping], location.address, part.how, part.chains[id]);
        }
        warnings.insert(warnings.end(), part.warnings.begin(), part.warnings.end());
    }
    return warnings;
}

}  // namespace flameprobe
