#include "collect/profile_stacks.hpp"

#include <chrono>
#include <map>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/system_call_names.hpp"
#include "symbolize/stand_in.hpp"
#include "symbolize/symbolizer.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

constexpr MappingId kernel_mapping = 0, note_mapping = 1, unknown_mapping = 2, scope_mapping = 3;

// How long the names of what is gone may take at the end.
constexpr std::chrono::seconds time_for_names{10};

}  // namespace

ProfileStacks::ProfileStacks(ProfileSink& sink, const CodeMap& code_map, std::uint64_t start_ns)
    : sink_(sink), code_map_(code_map), start_ns_(start_ns) {
    for (const auto kind : {MappingKind::kernel, MappingKind::note, MappingKind::unknown, MappingKind::scope}) {
        Mapping mapping;
        mapping.kind = kind;
        sink_.mapping(next_mapping_++, mapping);
    }
}

StackId ProfileStacks::intern(std::span<const CodeFrame> frames, bool whole, const std::vector<StackLabel>& labels,
                              std::span<const std::uint64_t> kernel, MappingId call) {
    StackId stack = 0;
    depth_ = 0;
    auto label = labels.begin();  // from the root on
    if (!whole) stack = push(stack, {note_mapping, static_cast<std::uint64_t>(Note::truncated)});
    // Scopes have proofs of their own, so they are kept where the frames that opened them are cut.
    for (; label != labels.end() && label->frame >= frames.size(); ++label)
        stack = push(stack, {scope_mapping, label->text});
    for (std::size_t at = frames.size(); at-- > 0;) {
        stack = push(stack, {mapping_of(frames[at].region, frames[at].address), frames[at].address});
        for (; label != labels.end() && label->frame >= at; ++label) stack = push(stack, {scope_mapping, label->text});
    }
    for (std::size_t at = kernel.size(); at-- > 0;)
        stack = push(stack, {kernel_mapping, at == 0 ? kernel[at] : kernel[at] - 1});
    if (call != 0) stack = push(stack, named(call));
    return stack;
}

StackId ProfileStacks::of_addresses(std::initializer_list<std::uint64_t> addresses, const std::string& note) {
    StackId stack = 0;
    for (const std::uint64_t address : addresses) {
        const CodeRegion* region = address == 0 ? nullptr : code_map_.find(address);
        if (region != nullptr) stack = child(stack, {mapping_of(region->id, address), address});
    }
    return note_above(stack, note);
}

StackId ProfileStacks::of_note(Note note) { return child(0, {note_mapping, static_cast<std::uint64_t>(note)}); }

Location ProfileStacks::named(MappingId note) { return {note, named_note}; }

MappingId ProfileStacks::note_of(const std::string& text) {
    const auto [known, is_new] = notes_.try_emplace(text, next_mapping_);
    if (!is_new) return known->second;
    Mapping mapping;
    mapping.kind = MappingKind::note;
    mapping.path = text;
    sink_.mapping(next_mapping_++, mapping);
    return known->second;
}

void ProfileStacks::add_jit_dump(const std::string& path) {
    Mapping mapping;
    mapping.kind = MappingKind::file;
    mapping.path = path;
    sink_.mapping(next_mapping_++, mapping);
}

// Most stacks begin as the last one did: that part is not looked up again.
StackId ProfileStacks::push(StackId parent, const Location& location) {
    if (depth_ < path_.size() && path_[depth_].parent == parent && path_[depth_].location == location)
        return path_[depth_++].id;
    path_.resize(depth_++);
    path_.push_back({parent, location, child(parent, location)});
    return path_.back().id;
}

StackId ProfileStacks::child(StackId parent, const Location& location) {
    const auto place = table_.location(location);
    if (place.is_new) sink_.location(place.id, location);
    const auto stack = table_.stack(parent, place.id);
    if (stack.is_new) sink_.stack(stack.id, {parent, place.id});
    return stack.id;
}

MappingId ProfileStacks::mapping_of(std::uint32_t region_id, std::uint64_t address) {
    if (region_id == CodeFrame::no_region) return unknown_mapping;
    const auto known = mapping_of_region_.find(region_id);
    if (known != mapping_of_region_.end()) return known->second;
    const CodeRegion* region = code_map_.find(address);
    if (region == nullptr || region->id != region_id) return unknown_mapping;
    Mapping mapping;
    mapping.kind = region->kind == RegionKind::vdso   ? MappingKind::vdso
                   : region->kind == RegionKind::file ? MappingKind::file
                                                      : MappingKind::anonymous;
    mapping.start = region->start;
    mapping.size = region->end - region->start;
    mapping.file_offset = region->file_offset;
    mapping.since_ns = monotonic_ns() - start_ns_;
    mapping.path = region->path;
    const MappingId id = next_mapping_++;
    if (mapping.kind == MappingKind::anonymous) made_at_run_time_.push_back(id);
    files_.add(id, *region, mapping);
    mapping_of_region_.emplace(region_id, id);
    sink_.mapping(id, mapping);
    return id;
}

// The code at a place does not change without its region.
MappingId ProfileStacks::call_of(std::span<const CodeFrame> frames) {
    if (frames.empty()) return note_of("[kernel]");
    const CodeFrame& leaf = frames.front();
    const auto [known, is_new] = call_at_.try_emplace({leaf.region, leaf.address}, 0);
    if (!is_new) return known->second;
    const auto number = system_call_number(leaf.address);
    const auto name = number ? system_call_name(*number) : std::string_view();
    known->second = note_of(name.empty() ? "[kernel]" : "[kernel: " + std::string(name) + "]");
    return known->second;
}

// What is not known now may be found later, by whoever has a debug file.
void ProfileStacks::name_what_is_gone(std::uint32_t next_string) {
    std::vector<Mapping> mappings;
    std::map<MappingId, MappingId> place;
    const std::vector<MappingId> gone = files_.gone();
    for (const MappingId id : gone) {
        place[id] = static_cast<MappingId>(mappings.size());
        mappings.push_back(files_.mapping(id));
    }
    // Of code that a watched process has made: its map may be in a container, and older than the profile.
    const bool watched = is_watched_from_outside();
    if (watched) {
        for (const MappingId id : made_at_run_time_) place[id] = static_cast<MappingId>(mappings.size());
        mappings.emplace_back().kind = MappingKind::anonymous;
    }
    std::vector<LocationId> ids;
    std::vector<Location> locations;
    for (LocationId id = 0; id < table_.locations() && !place.empty(); ++id) {
        const Location location = table_.at(id);
        if (const auto found = place.find(location.mapping); found != place.end()) {
            ids.push_back(id);
            locations.push_back({found->second, location.address});
        }
    }
    if (ids.empty()) return;
    SymbolizeOptions options;
    options.workers = 1;
    options.same_boot = true;
    options.pid = watched ? static_cast<std::uint32_t>(host_process()) : 0;
    options.deadline = std::chrono::steady_clock::now() + time_for_names;
    options.read_image = [&](const Mapping& mapping) {
        const auto at = static_cast<std::size_t>(&mapping - mappings.data());
        return at < gone.size() ? files_.read(gone[at]) : std::nullopt;
    };
    std::vector<std::string> warnings;
    const SymbolChains chains = symbolize(mappings, locations, {}, options, warnings);
    std::map<std::string, std::uint32_t> strings;
    const auto id_of = [&](const std::string& text) {
        const auto [known, is_new] = strings.try_emplace(text, next_string);
        if (is_new) sink_.string(next_string++, text);
        return known->second;
    };
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::string& outermost = chains[i].back().name;
        if (outermost.starts_with(unknown_prefix) || outermost == nameless_jit_code) continue;
        std::vector<ArchivedSymbol> symbols;
        for (const Symbol& symbol : chains[i])
            symbols.push_back({id_of(symbol.name), id_of(symbol.file), symbol.line, symbol.decl_line, symbol.inlined});
        sink_.symbols(ids[i], symbols);
    }
}

std::size_t ProfileStacks::memory() const {
    constexpr std::size_t node = 48, tree_node = 72, named_node = 112;  // of a hash table, and of trees
    return table_.memory() + files_.memory() + path_.capacity() * sizeof(Step) + mapping_of_region_.size() * node +
           notes_.size() * named_node + call_at_.size() * tree_node;
}

}  // namespace flameprobe
