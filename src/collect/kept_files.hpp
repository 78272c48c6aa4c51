// The files behind a profile's mappings, kept so that the names of what is deleted, replaced or unloaded meanwhile can
// still be read at the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "collect/raw_names.hpp"
#include "profile/model.hpp"
#include "unwind/code_map.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {

/// The collector thread only. Holds a descriptor for each of the first 256 files, in the collector's own table: a file
/// that the host deletes takes its place on the disk until the profile ends.
class KeptFiles {
public:
    /// Tells the mapping which file it is of: its build id, else its identity.
    void add(MappingId id, const CodeRegion& region, Mapping& mapping);
    /// What is not at its path any more, or never was in a file (the vdso).
    std::vector<MappingId> gone() const;
    bool has(MappingId id) const { return std::ranges::binary_search(held_, id, {}, &Held::id); }
    const Mapping& mapping(MappingId id) const;
    /// Reads a mapping's file, or what is known of it. Valid until the next call of add() or close().
    ReadFile reader(MappingId id) const;
    /// Descriptors; files that still lie at their paths are known all the same.
    void close();
    std::size_t memory() const;  // bytes, estimated

private:
    struct Held {
        MappingId id = 0;
        Mapping mapping;
        FileIdentity at_path;  // of the mapped file while it lay there; not known: it did not
        Descriptor file;
        std::optional<ElfImage> image;  // without privileges, of a file that was gone when its code was first seen
    };

    void hold_gone(Held& held, const CodeRegion& region);
    const Held& of(MappingId id) const;

    std::vector<Held> held_;  // by id
    std::size_t images_ = 0;  // bytes
    std::size_t files_ = 0;
};

// Files that the host has mapped and that cannot be opened any more: deleted, replaced by an update, memfds.

/// The mapped parts, at their offsets in the file, of the one mapped at `address` from `path`: these have the dynamic
/// symbols but neither sections nor `.symtab`. Nothing if it is not mapped there. Not for signal handlers.
std::optional<ElfImage> copy_mapped_parts(std::uint64_t address, std::string_view path);

}  // namespace flameprobe
