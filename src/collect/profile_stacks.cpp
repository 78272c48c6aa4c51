#include "collect/profile_stacks.hpp"

#include "base/clock.hpp"
#include "base/system_call_names.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

constexpr MappingId kernel_mapping = 0, note_mapping = 1, unknown_mapping = 2, scope_mapping = 3;

// The kernel gives it for mappings made while sampling is on. For others it is read from the file, if that is still the
// one that was mapped, else from the process's memory. A file without one is known by its inode.
void identify(const CodeRegion& region, Mapping& mapping) {
    mapping.build_id = region.build_id;
    if (!region.build_id.empty() || region.kind != RegionKind::file) return;
    auto image = ElfImage::from_file(region);
    if (image)
        mapping.file = image->file();
    else
        mapping.file = {.device = region.device, .inode = region.inode};
    if (!image) image = ElfImage::from_memory(region);
    if (image) mapping.build_id = image->build_id();
    if (!mapping.build_id.empty()) mapping.file = {};
}

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
    identify(*region, mapping);
    const MappingId id = next_mapping_++;
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

std::size_t ProfileStacks::memory() const {
    constexpr std::size_t node = 48, tree_node = 72, named_node = 112;  // of a hash table, and of trees
    return table_.memory() + path_.capacity() * sizeof(Step) + mapping_of_region_.size() * node +
           notes_.size() * named_node + call_at_.size() * tree_node;
}

}  // namespace flameprobe
