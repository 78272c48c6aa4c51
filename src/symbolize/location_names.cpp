#include <iterator>

#include "profile/model.hpp"
#include "profile/names.hpp"
#include "symbolize/demangle.hpp"
#include "symbolize/load_steps.hpp"

namespace flameprobe {

namespace {

FrameKind kind_of(MappingKind mapping, bool inlined) {
    switch (mapping) {
        case MappingKind::kernel:
            return FrameKind::kernel;
        case MappingKind::note:
            return FrameKind::note;
        case MappingKind::scope:
            return FrameKind::scope;
        default:
            return inlined ? FrameKind::inlined : FrameKind::user;
    }
}

/// `--archive` stores names as they are shown, the recorder those of symbol tables as they stand there, without more.
std::vector<Symbol> from_archive(const std::vector<ArchivedSymbol>& archived, const std::vector<std::string>& strings,
                                 MappingKind in) {
    std::vector<Symbol> symbols;
    for (const ArchivedSymbol& from : archived)
        symbols.push_back({strings[from.name], strings[from.file], from.line, from.decl_line, from.inlined});
    const bool may_be_raw = symbols.size() == 1 && symbols[0].file.empty() && in != MappingKind::kernel;
    if (may_be_raw) symbols[0].name = demangle(symbols[0].name);
    return symbols;
}

}  // namespace

FrameId LocationNames::thread_frame(const Thread& thread) {
    const std::string name = thread.name.empty() ? "thread " + std::to_string(thread.tid) : thread.name;
    const FunctionId id = functions_.add({profile_.strings.intern(name), 0, 0, 0, FrameKind::thread});
    const auto [known, is_new] = thread_frames_.try_emplace(id, static_cast<FrameId>(profile_.frames.size()));
    if (is_new) profile_.frames.push_back({id, 0, NamedFrame::no_location});
    return known->second;
}

LocationNames::LocationNames(const RawProfile& raw, NamedProfile& profile)
    : raw_(raw), profile_(profile), functions_(profile) {
    if (raw.run_info && program_name(*raw.run_info) != base_name(raw.run_info->executable))
        called_ = program_name(*raw.run_info);
}

std::string LocationNames::shown(std::string name, const Mapping& mapping) const {
    if (name.starts_with(glibc_alias)) name.erase(0, glibc_alias.size());
    if (called_.empty() || mapping.path != raw_.run_info->executable || !is_stand_in(name)) return name;
    const std::string_view file = base_name(mapping.path);
    const std::size_t at = name.find(file);
    return at == name.npos ? name : name.replace(at, file.size(), called_);
}

// What FlameProbe says in brackets stays as it is, but for scopes: their time is not the waiting thread's.
FrameId LocationNames::held_frame(FrameId frame) {
    const auto [known, is_new] = held_frames_.try_emplace(frame, frame);
    if (!is_new) return known->second;
    NamedFrame held = profile_.frames[frame];
    Function named = profile_.functions[held.function];
    const std::string name(profile_.strings.view(named.name));
    if (named.kind != FrameKind::note || !name.starts_with('[')) {
        if (named.kind == FrameKind::scope) named.name = profile_.strings.intern("[" + name + "]");
        named.kind = FrameKind::held;
        held.function = functions_.add(named);
        known->second = static_cast<FrameId>(profile_.frames.size());
        profile_.frames.push_back(held);
    }
    return known->second;
}

void LocationNames::add(LocationId id, const std::vector<Symbol>& symbols) {
    const Mapping& mapping = raw_.mappings[raw_.locations[id].mapping];
    StringTable& strings = profile_.strings;
    ranges_[id].begin = static_cast<std::uint32_t>(frames_.size());
    for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
        // In debug information glibc's `read` is its `__GI___libc_read`, inlined.
        if (symbol->inlined && symbol != symbols.rbegin() && symbol->name.starts_with(glibc_alias) &&
            without_glibc_marks(symbol->name) == without_glibc_marks(std::prev(symbol)->name)) {
            profile_.frames.back().line = symbol->line;
            continue;
        }
        const FunctionId named =
            functions_.add({strings.intern(shown(symbol->name, mapping)), strings.intern(symbol->file),
                            symbol->decl_line, mapping.kind == MappingKind::note ? 0 : strings.intern(mapping.path),
                            kind_of(mapping.kind, symbol->inlined)});
        frames_.push_back(static_cast<FrameId>(profile_.frames.size()));
        profile_.frames.push_back({named, symbol->line, id});
    }
    ranges_[id].end = static_cast<std::uint32_t>(frames_.size());
}

std::optional<std::vector<Symbol>> LocationNames::known(LocationId id, const SymbolizeOptions& options,
                                                        const SymbolCache* cache) const {
    if (const auto archived = raw_.archived.find(id); archived != raw_.archived.end()) {
        return from_archive(archived->second, raw_.strings, raw_.mappings[raw_.locations[id].mapping].kind);
    }
    const Location& location = raw_.locations[id];
    if (cache == nullptr) return std::nullopt;
    return cache->find(raw_.mappings[location.mapping], location.address, options);
}

void LocationNames::name(const std::vector<bool>& needed, const SymbolizeOptions& options, SymbolCache* cache) {
    ranges_.resize(raw_.locations.size());
    std::vector<LocationId> ids;
    std::vector<Location> unnamed;
    for (LocationId id = 0; id < raw_.locations.size(); ++id) {
        if (!needed[id]) continue;
        if (const auto symbols = known(id, options, cache)) {
            add(id, *symbols);
        } else {
            ids.push_back(id);
            unnamed.push_back(raw_.locations[id]);
        }
    }
    if (unnamed.empty()) return;
    const auto symbols = symbolize(raw_.mappings, unnamed, raw_.strings, options, profile_.warnings);
    for (std::size_t i = 0; i < ids.size() && i < symbols.size(); ++i) {
        add(ids[i], symbols[i]);
        const Mapping& mapping = raw_.mappings[unnamed[i].mapping];
        if (cache != nullptr) cache->add(mapping, unnamed[i].address, options, symbols[i]);
    }
}

std::span<const FrameId> LocationNames::frames(LocationId id) const {
    return std::span(frames_).subspan(ranges_[id].begin, ranges_[id].end - ranges_[id].begin);
}

}  // namespace flameprobe
