// The files behind a profile's mappings, held so that the names of what is deleted, replaced or unloaded meanwhile can
// still be read at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "collect/raw_names.hpp"
#include "profile/model.hpp"
#include "unwind/code_map.hpp"

namespace flameprobe {

/// The collector thread only. Holds a descriptor for each of the first 256 files, in the collector's own table: a file
/// that the host deletes takes its place on the disk until the profile ends.
class MappedFiles {
public:
    /// Tells the mapping which file it is of: its build id, else its identity.
    void add(MappingId id, const CodeRegion& region, Mapping& mapping);
    /// What is not at its path any more, or never was in a file (the vdso).
    std::vector<MappingId> gone() const;
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
        std::string image;  // without privileges, of a file that was gone when its code was first seen
    };

    void hold_gone(Held& held, const CodeRegion& region);
    const Held& of(MappingId id) const;

    std::vector<Held> held_;  // by id
    std::size_t images_ = 0;  // bytes
    std::size_t files_ = 0;
};

}  // namespace flameprobe
