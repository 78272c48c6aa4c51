// Which file each pprof location is in.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct PprofMapping {
    std::string file;
    std::string build_id;                                 // hexadecimal
    std::uint64_t start = 0, limit = 0, file_offset = 0;  // 0 where it is not known
};

/// The first is the main program's, which pprof takes for the profile's name; ids count from 1.
class PprofMappings {
public:
    explicit PprofMappings(const NamedProfile& profile);
    /// 0 for notes and for code that is in no file.
    std::uint64_t of(const NamedFrame& frame);
    std::uint64_t address_of(const NamedFrame& frame) const;
    const std::vector<PprofMapping>& all() const { return mappings_; }

private:
    std::uint64_t add(MappingId id);
    std::uint64_t named(const std::string& file);

    const NamedProfile& profile_;
    std::vector<PprofMapping> mappings_;
    std::unordered_map<MappingId, std::uint64_t> by_id_;
    std::unordered_map<std::string, std::uint64_t> by_file_;  // for frames that lost their address when merged
};

}  // namespace flameprobe
