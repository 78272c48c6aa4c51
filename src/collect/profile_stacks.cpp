#include "collect/profile_stacks.hpp"

#include <set>

#include "base/binary_text.hpp"
#include "base/clock.hpp"
#include "base/system_call_names.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

constexpr MappingId kernel_mapping = 0, note_mapping = 1, unknown_mapping = 2, scope_mapping = 3;

}  // namespace

ProfileStacks::ProfileStacks(ProfileSink& sink, const CodeMap& code_map, std::uint64_t start_ns)
    : sink_(sink), code_map_(code_map), start_ns_(start_ns) {
    for (const auto kind : {MappingKind::kernel, MappingKind::note, MappingKind::unknown, MappingKind::scope}) {
        Mapping mapping;
        mapping.kind = kind;
        sink_.mapping(next_mapping_++, mapping);
    }
}

StackId ProfileStacks::intern(std::span<const CodeFrame> frames, Before before, const std::vector<StackLabel>& labels,
                              std::span<const std::uint64_t> kernel, MappingId call) {
    StackId stack = 0;
    depth_ = 0;
    auto label = labels.begin();  // from the root on
    if (before == Before::truncated) stack = push(stack, {note_mapping, static_cast<std::uint64_t>(Note::truncated)});
    if (before == Before::read_later) stack = push(stack, named(note_of(std::string(read_later_note))));
    // Scopes have proofs of their own, so they are kept where the frames that opened them are cut.
    for (; label != labels.end() && label->frame >= frames.size(); ++label)
        stack = push(stack, {scope_mapping, label->text});
    for (std::size_t at = frames.size(); at-- > 0;) {
        stack = push(stack, frames[at].region == recursion_note.region ? named(note_of(std::string(recursion_text)))
                                                                       : location_of(frames[at]));
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

StackId ProfileStacks::named_above(StackId parent, const CodeName& frame, std::uint32_t& next_string) {
    if (frames_mapping_ == 0) {
        frames_mapping_ = next_mapping_++;
        sink_.mapping(frames_mapping_, {});
    }
    const std::string key = frame.name + '\n' + frame.file + ':' + std::to_string(frame.line);
    const auto [known, is_new] = frames_.try_emplace(key, frames_.size() + 1);
    const Location location{frames_mapping_, known->second};
    const StackId stack = child(parent, location);
    if (!is_new) return stack;
    sink_.string(next_string, frame.name);
    sink_.string(next_string + 1, frame.file);
    sink_.symbols(table_.location(location).id, {{next_string, next_string + 1, frame.line, 0, false}});
    next_string += 2;
    return stack;
}

StackId ProfileStacks::stack_above(StackId parent, StackId stack) {
    std::vector<LocationId> path;
    for (; stack != 0; stack = table_.node(stack).parent) path.push_back(table_.node(stack).location);
    for (auto location = path.rbegin(); location != path.rend(); ++location)
        parent = child(parent, table_.at(*location));
    return parent;
}

StackId ProfileStacks::same_stack(const ProfileStacks& before, StackId stack,
                                  const std::function<std::uint32_t(std::uint32_t)>& text) {
    std::vector<Location> path;
    for (; stack != 0; stack = before.table_.node(stack).parent)
        path.push_back(before.table_.at(before.table_.node(stack).location));
    StackId here = 0;
    for (auto location = path.rbegin(); location != path.rend(); ++location) {
        if (location->mapping == scope_mapping)
            location->address = text(static_cast<std::uint32_t>(location->address));
        else if (location->mapping > scope_mapping)
            location->mapping = same_mapping(before, *location);
        here = child(here, *location);
    }
    return here;
}

MappingId ProfileStacks::same_mapping(const ProfileStacks& before, const Location& location) {
    const CodeRegion *const was = before.code_map_.find(location.address), *const is = code_map_.find(location.address);
    if (was == nullptr || is == nullptr) return unknown_mapping;
    const auto known = before.mapping_of_region_.find(was->id);
    const bool was_meant = known != before.mapping_of_region_.end() && known->second == location.mapping;
    const bool same = was->kind == is->kind && was->path == is->path && was->inode == is->inode &&
                      (is->kind != RegionKind::file || was->start - was->file_offset == is->start - is->file_offset);
    return was_meant && same ? mapping_of(is->id, location.address) : unknown_mapping;
}

Location ProfileStacks::location_of(const CodeFrame& frame) {
    return {mapping_of(frame.region, frame.address), frame.address};
}

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

MappingId ProfileStacks::note_of_call(std::optional<unsigned> number) {
    const auto name = number ? system_call_name(*number) : std::string_view();
    return note_of(name.empty() ? "[kernel]" : "[kernel: " + std::string(name) + "]");
}

// The code at a place does not change without its region.
MappingId ProfileStacks::call_of(std::span<const CodeFrame> frames) {
    constexpr std::size_t most_callers = 3;  // glibc's are two or three: read, __syscall_cancel, and what that calls
    if (frames.empty()) return note_of("[kernel]");
    const CodeFrame& leaf = frames.front();
    const auto [known, is_new] = call_at_.try_emplace({leaf.region, leaf.address}, 0);
    if (is_new && !takes_call_number(leaf.address)) known->second = note_of_call(system_call_number(leaf.address));
    if (known->second != 0) return known->second;
    for (const CodeFrame& caller : frames.subspan(1, std::min(most_callers, frames.size() - 1))) {
        if (caller.region != leaf.region) break;
        const auto [call, is_first] = call_at_.try_emplace({caller.region, caller.address}, 0);
        const auto number = is_first ? given_call_number(caller.address + 1) : std::nullopt;
        if (number) call->second = note_of_call(number);
        if (call->second != 0) return call->second;
    }
    return note_of("[kernel]");
}

// What is not known now may be found later, by whoever has a debug file.
void ProfileStacks::name_what_is_gone(std::uint32_t& next_string) {
    struct Wanted {
        std::vector<LocationId> ids;
        std::vector<std::uint64_t> addresses;
    };
    std::map<MappingId, Wanted> gone;
    for (const MappingId id : files_.gone()) gone[id];
    std::set<MappingId> made;  // asked for together
    if (name_code != nullptr) made.insert(made_at_run_time_.begin(), made_at_run_time_.end());
    if (!made.empty()) gone[*made.begin()];
    named_.resize(table_.locations());
    for (LocationId id = 0; id < named_.size() && !gone.empty(); ++id) {
        const Location location = table_.at(id);
        const MappingId in = made.contains(location.mapping) ? *made.begin() : location.mapping;
        const auto found = named_[id] ? gone.end() : gone.find(in);
        if (found == gone.end()) continue;
        found->second.ids.push_back(id);
        found->second.addresses.push_back(location.address);
        named_[id] = true;
    }
    std::map<std::string, std::uint32_t> strings;
    const auto id_of = [&](const std::string& text) {
        const auto [known, is_new] = strings.try_emplace(text, next_string);
        if (is_new) sink_.string(next_string++, text);
        return known->second;
    };
    for (const auto& [mapping, wanted] : gone) {
        if (wanted.ids.empty()) continue;
        const auto names = names_in(mapping, made.contains(mapping), wanted.addresses);
        for (std::size_t i = 0; i < names.size(); ++i) {
            std::vector<ArchivedSymbol> symbols;
            for (const CodeName& name : names[i])
                symbols.push_back({id_of(name.name), id_of(name.file), name.line, name.decl_line, name.inlined});
            if (!symbols.empty()) sink_.symbols(wanted.ids[i], symbols);
        }
    }
}

std::string ProfileStacks::text_of(StackId stack) const {
    std::vector<Location> path;
    std::map<MappingId, std::vector<std::uint64_t>> in_files;
    for (; stack != 0; stack = table_.node(stack).parent) {
        const Location& location = path.emplace_back(table_.at(table_.node(stack).location));
        if (files_.has(location.mapping)) in_files[location.mapping].push_back(location.address);
    }
    std::map<std::pair<MappingId, std::uint64_t>, std::string> names;
    for (const auto& [text, id] : notes_) names[{id, named_note}] = text;
    for (const auto& [mapping, addresses] : in_files) {
        const auto found = names_in(mapping, false, addresses);
        for (std::size_t i = 0; i < found.size(); ++i)
            if (!found[i].empty()) names[{mapping, addresses[i]}] = found[i].front().name;
    }
    std::string text;
    for (const Location& at : path) {
        if (at.mapping == scope_mapping) continue;
        const auto name = names.find({at.mapping, at.address});
        text += text.empty() ? "" : " < ";
        text += name != names.end()          ? name->second
                : at.mapping == note_mapping ? std::string(note_text(static_cast<Note>(at.address)))
                                             : hex_number(at.address);
    }
    return text;
}

std::vector<std::vector<CodeName>> ProfileStacks::names_in(MappingId id, bool made_at_run_time,
                                                           const std::vector<std::uint64_t>& addresses) const {
    Mapping memory;
    memory.kind = MappingKind::anonymous;
    if (made_at_run_time) return name_code(memory, addresses, {});
    const Mapping& mapping = files_.mapping(id);
    const ReadFile file = files_.reader(id);
    if (name_code != nullptr) return name_code(mapping, addresses, file);
    std::vector<std::uint64_t> offsets;
    for (const std::uint64_t address : addresses) offsets.push_back(address - mapping.start + mapping.file_offset);
    std::vector<std::vector<CodeName>> names(addresses.size());
    const auto found = raw_names(file, mapping.path, offsets);
    for (std::size_t i = 0; i < found.size(); ++i)
        if (!found[i].empty()) names[i].push_back({.name = found[i], .file = {}});
    return names;
}

std::size_t ProfileStacks::memory() const {
    constexpr std::size_t node = 48, tree_node = 72, named_node = 112;  // of a hash table, and of trees
    return table_.memory() + files_.memory() + path_.capacity() * sizeof(Step) + mapping_of_region_.size() * node +
           notes_.size() * named_node + call_at_.size() * tree_node;
}

}  // namespace flameprobe
