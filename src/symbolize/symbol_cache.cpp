#include "symbolize/symbol_cache.hpp"

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

std::size_t SymbolCache::PlaceHash::operator()(const Place& place) const {
    const std::uint64_t hash = (place.offset ^ std::uint64_t{place.file} << 40) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

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
    const auto entry = entries_.find({file->second, offset_of(mapping, address)});
    if (entry == entries_.end()) return std::nullopt;
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
    const std::uint32_t file = files_.try_emplace(*key, static_cast<std::uint32_t>(files_.size())).first->second;
    const Entry entry{static_cast<std::uint32_t>(symbols_.size()), static_cast<std::uint32_t>(symbols.size())};
    if (!entries_.try_emplace({file, offset_of(mapping, address)}, entry).second) return;
    for (const Symbol& symbol : symbols) {
        symbols_.push_back({strings_.intern(symbol.name), strings_.intern(symbol.file), symbol.line, symbol.decl_line,
                            symbol.inlined});
    }
}

}  // namespace flameprobe
