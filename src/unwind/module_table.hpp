// Unwind tables by code region: opened when an address in them is first met, shared by the regions of one file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "unwind/cfi_tables.hpp"

namespace flameprobe {

/// One thread only.
class ModuleTable {
public:
    /// Null for code without tables: anonymous memory, files that can be read neither from disk nor from memory.
    struct Tables {
        CfiTables* cfi = nullptr;
        std::uint64_t bias = 0;
    };
    Tables find(const CodeRegion& region);
    /// Drops the tables of regions that are no longer in the map.
    void forget_all_but(const CodeMap& map);
    /// Closes every file; find() opens it again.
    void close_files();

private:
    using FileKey = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;
    struct Module {
        std::shared_ptr<CfiTables> cfi;
        std::uint64_t bias = 0;
    };
    Module open(const CodeRegion& region);

    std::unordered_map<std::uint32_t, Module> regions_;
    std::map<FileKey, std::weak_ptr<CfiTables>> files_;
};

}  // namespace flameprobe
