// Names of code that is compiled at run time: /tmp/perf-PID.map, which node --perf-basic-prof, Python 3.12's
// trampolines and others write for perf, and the dumps of JIT compilers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "symbolize/file_bytes.hpp"

namespace flameprobe {

class PerfMap {
public:
    /// Reads the map of process `pid` (0: none), and the dumps that its just-in-time compilers wrote. Every user may
    /// write to /tmp, so only regular files of this user's or root's are read, and `warnings` tell of others; where
    /// there is none, the map is empty.
    static PerfMap of_process(std::uint32_t pid, const std::vector<std::string>& jit_dumps,
                              std::vector<std::string>& warnings);
    /// Lines `START SIZE NAME`, both numbers in hex; other lines are skipped. Where entries overlap the last one wins,
    /// since JIT compilers discard code and use its memory again.
    static PerfMap parse(std::string text);

    /// Empty if nothing is known. The view lives as long as the map.
    std::string_view find(std::uint64_t address) const;

private:
    struct Entry {
        std::uint64_t start, end;
        std::size_t name_at, name_size, order;
    };
    std::string text_;
    std::vector<Entry> entries_;  // sorted by start, then by order
    std::vector<std::uint64_t> reach_;
};

/// Opens a file for reading if it is a regular file of this user or of root, and no symbolic link; otherwise gives an
/// empty descriptor, and adds a warning if there is such a file.
Descriptor open_trusted(const std::string& path, std::vector<std::string>& warnings);

/// The functions of a dump, as lines of a perf map (PerfMap::parse) in order of time; empty if there is no dump that
/// may be trusted (open_trusted()). Reading ends at the first bytes that are no whole record, so the file may still be
/// growing.
std::string read_jit_dump(const std::string& path, std::vector<std::string>& warnings);

}  // namespace flameprobe
