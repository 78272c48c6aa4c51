// Keeps the names that were looked up for one profile for the next ones: a thousand profiles of one program cost one
// look-up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/named_profile.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// Memory: about 50 bytes for every distinct address, and every distinct name once. One thread only.
class SymbolCache {
public:
    /// Finds code of a file by path, build id and offset in the file; without a build id only where the path means the
    /// same file (options.same_place). The kernel's names are kept within one boot, since its modules move. Names of
    /// JIT code and of memory without a file are never kept.
    std::optional<std::vector<Symbol>> find(const Mapping& mapping, std::uint64_t address,
                                            const SymbolizeOptions& options) const;
    void add(const Mapping& mapping, std::uint64_t address, const SymbolizeOptions& options,
             const std::vector<Symbol>& symbols);

private:
    struct Entry {
        std::uint32_t begin = 0, size = 0;
    };

    static std::optional<std::string> file_key(const Mapping& mapping, const SymbolizeOptions& options);
    static std::uint64_t offset_of(const Mapping& mapping, std::uint64_t address);

    StringTable strings_;
    std::unordered_map<std::string, std::unordered_map<std::uint64_t, Entry>> files_;  // by key, then offset
    std::vector<ArchivedSymbol> symbols_;
};

/// Looks up the names of many profiles together, so that a library's debug information, and the kernel's symbols, are
/// read once, and not again for each profile with an address that earlier profiles did not have.
///
/// Fills `cache` with the names of all addresses that the `.fprobe`s at `paths` have in files with a build id and,
/// if they were taken since this machine booted, in the kernel. Reads each path; load_profile() reads it again, so none
/// may be a pipe. Paths that are no `.fprobe` are skipped. Returns warnings as load_profile() does.
std::vector<std::string> learn_names(const std::vector<std::string>& paths, const SymbolizeOptions& options,
                                     SymbolCache& cache);

}  // namespace flameprobe
