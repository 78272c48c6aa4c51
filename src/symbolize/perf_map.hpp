// Names of code that is compiled at run time: /tmp/perf-PID.map, which node --perf-basic-prof, Python 3.12's
// trampolines and others write for perf, and the dumps of JIT compilers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "profile/model.hpp"
#include "symbolize/file_bytes.hpp"

namespace flameprobe {

/// A function of a just-in-time compiler's dump, made or moved to `start` at `time_ns`.
struct JitCode {
    std::uint64_t start = 0, size = 0;
    std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC; 0: the dump counts time by another clock
    std::string name;
};

class PerfMap {
public:
    /// A stretch of memory that held one function from `time_ns` on (CLOCK_MONOTONIC; 0: not known since when).
    struct Entry {
        std::uint64_t start, end, time_ns;
        std::size_t name_at, name_size, order;
    };

    /// Reads the map of process `pid` (0: none), and the dumps that its just-in-time compilers wrote. Every user may
    /// write to /tmp, so only files that may be trusted are read (open_trusted()), and `warnings` tell of others;
    /// where there is none, the map is empty. Of a large one the last lines are read, as JIT compilers add to it.
    static PerfMap of_process(std::uint32_t pid, const std::vector<std::string>& jit_dumps,
                              std::vector<std::string>& warnings);
    /// Lines `START SIZE NAME`, both numbers in hex; other lines are skipped. Where entries overlap the last one wins,
    /// since JIT compilers discard code and use its memory again; `codes` come after the lines, in order of time.
    static PerfMap parse(std::string text, std::vector<JitCode> codes = {});

    /// Empty if nothing is known. The view lives as long as the map.
    std::string_view find(std::uint64_t address) const;
    /// The last function with this stretch that began by then.
    std::string_view find(std::uint64_t start, std::uint64_t size, std::uint64_t time_ns) const;
    /// All that held an address, in order of time; the map's own entries first.
    std::vector<const Entry*> all_at(std::uint64_t address) const;
    std::string_view name(const Entry& entry) const {
        return std::string_view(text_).substr(entry.name_at, entry.name_size);
    }

private:
    void add(std::uint64_t start, std::uint64_t size, std::uint64_t time_ns, std::size_t name_at,
             std::size_t name_size);
    std::string text_;
    std::vector<Entry> entries_;  // sorted by start, then by order
    std::vector<std::uint64_t> reach_;
};

/// Opens a file for reading if it is a regular file of this user or of root, and no symbolic link; otherwise gives an
/// empty descriptor, and adds a warning if there is such a file. Of a process that is watched (base/host_process.hpp)
/// the file is below its root only, and its user's or root's.
Descriptor open_trusted(const std::string& path, std::vector<std::string>& warnings);

/// The mapped files that are dumps of just-in-time compilers.
std::vector<std::string> jit_dumps_in(const std::vector<Mapping>& mappings);

/// The functions of a dump, in order of time; empty if there is no dump that may be trusted (open_trusted()). Reading
/// ends at the first bytes that are no whole record, so the file may still be growing.
std::vector<JitCode> read_jit_dump(const std::string& path, std::vector<std::string>& warnings);

}  // namespace flameprobe
