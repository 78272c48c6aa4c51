#include "collect/kept_files.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/host_process.hpp"
#include "base/paths.hpp"
#include "base/proc_maps.hpp"
#include "base/regular_file.hpp"
#include "base/self_memory.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t most_files = 256;
constexpr std::size_t most_image_bytes = std::size_t{32} << 20;  // held, of all files

FileIdentity identity_of(const Descriptor& file) {
    struct stat status {};
    return file && ::fstat(file.get(), &status) == 0 ? FileIdentity::of(status) : FileIdentity();
}

/// For those who read the profile, which is in our place rather than the host's.
bool lies_at(const std::string& path, const FileIdentity& wanted) {
    struct stat status {};
    return wanted.known() && ::stat(path.c_str(), &status) == 0 && FileIdentity::of(status) == wanted;
}

/// A file may be written over in its place, as by cp or rsync --inplace, and then is another, unless it has the
/// mapping's build id still: then it was touched or stripped.
bool is_still_what_was_mapped(const Descriptor& file, const FileIdentity& at_path, const Mapping& mapping) {
    if (!at_path.known() || identity_of(file) == at_path) return true;
    CodeRegion region;
    region.kind = RegionKind::file;
    region.path = mapping.path;
    region.build_id = mapping.build_id;
    return !mapping.build_id.empty() && ElfImage::from_file(region).has_value();
}

// Not where a filter or a limit forbids to look: then nothing is known of the file there.
bool could_be_looked_at(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 || errno == ENOENT || errno == ENOTDIR;
}

}  // namespace

// The kernel gives the build id of mappings made while sampling is on. Of others it is read from the file, if that is
// still the one that was mapped, else from the process's memory.
void KeptFiles::add(MappingId id, const CodeRegion& region, Mapping& mapping) {
    mapping.build_id = region.build_id;
    if (region.kind == RegionKind::anonymous) return;
    Held held{.id = id, .mapping = {}, .at_path = {}, .file = {}, .image = {}};
    bool has_names = region.kind == RegionKind::vdso;
    if (region.kind == RegionKind::file) {
        auto image = ElfImage::from_file(region);
        if (image) held.at_path = image->file();
        if (!image) image = ElfImage::from_memory(region);
        has_names = image.has_value();
        if (image && mapping.build_id.empty()) mapping.build_id = image->build_id();
        if (mapping.build_id.empty()) mapping.file = held.at_path;
        if (mapping.build_id.empty() && !mapping.file.known() && could_be_looked_at(region.path))
            mapping.file = {.device = region.device, .inode = region.inode};
    }
    if (!has_names) return;  // a just-in-time compiler's file, for instance
    held.mapping = mapping;
    if (held.at_path.known() && files_ < most_files) {
        held.file = open_host_file(region.path);
        if (identity_of(held.file) != held.at_path) held.file = {};
    } else if (region.kind == RegionKind::file) {
        hold_gone(held, region);
    }
    files_ += held.file ? 1 : 0;
    held_.push_back(std::move(held));
}

// Through the kernel's link to what is mapped, which takes CAP_CHECKPOINT_RESTORE, or the parts that are mapped.
void KeptFiles::hold_gone(Held& held, const CodeRegion& region) {
    char link[80];
    std::snprintf(link, sizeof link, "/map_files/%" PRIx64 "-%" PRIx64, region.start, region.end);
    for (const char* const name : {static_cast<const char*>(link), "/exe"}) {
        if (files_ >= most_files) break;
        held.file = open_regular_file(host_memory_directory() + name);
        const FileIdentity found = identity_of(held.file);
        if (held.file && found.inode == region.inode && found.device == region.device) return;
        held.file = {};
    }
    auto image = copy_mapped_parts(region.start, region.path);
    if (!image || image->size_in_memory() > most_image_bytes - std::min(images_, most_image_bytes)) return;
    images_ += image->size_in_memory();
    held.image = std::move(image);
}

std::vector<MappingId> KeptFiles::gone() const {
    std::vector<MappingId> ids;
    for (const Held& held : held_)
        if (!lies_at(held.mapping.path, held.at_path)) ids.push_back(held.id);
    return ids;
}

const KeptFiles::Held& KeptFiles::of(MappingId id) const { return *std::ranges::lower_bound(held_, id, {}, &Held::id); }

const Mapping& KeptFiles::mapping(MappingId id) const { return of(id).mapping; }

ReadFile KeptFiles::reader(MappingId id) const {
    const Held& held = of(id);
    if (held.file && !is_still_what_was_mapped(held.file, held.at_path, held.mapping))
        return [](std::uint64_t, std::span<std::byte>) { return 0; };
    if (held.file)
        return [&held](std::uint64_t at, std::span<std::byte> out) { return read_at(held.file.get(), at, out); };
    if (held.mapping.kind == MappingKind::vdso)
        return [&held](std::uint64_t at, std::span<std::byte> out) { return read_self(held.mapping.start + at, out); };
    if (held.image) return [&held](std::uint64_t at, std::span<std::byte> out) { return held.image->read(at, out); };
    const auto image = std::make_shared<std::optional<ElfImage>>(
        copy_mapped_parts(held.mapping.start, held.mapping.path));  // shared: a function is copied
    return [image](std::uint64_t at, std::span<std::byte> out) { return *image ? (*image)->read(at, out) : 0; };
}

void KeptFiles::close() {
    for (Held& held : held_) held.file = {};
    files_ = 0;
}

std::size_t KeptFiles::memory() const { return held_.capacity() * sizeof(Held) + images_; }

std::optional<ElfImage> copy_mapped_parts(std::uint64_t address, std::string_view path) {
    const auto maps = read_proc_maps();
    if (!maps) return std::nullopt;
    for (const MapsLine& line : maps->lines) {
        if (address < line.start || address >= line.end || without_deleted(line.path) != path) continue;
        CodeRegion region;
        region.kind = RegionKind::file;
        region.start = line.start;
        region.end = line.end;
        region.file_offset = line.offset;
        return ElfImage::from_memory(region, ElfImage::Parts::all);
    }
    return std::nullopt;
}

}  // namespace flameprobe
