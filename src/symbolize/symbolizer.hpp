// From mapped addresses to functions, files, lines and inlined callees.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "profile/model.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct SymbolizeOptions {
    std::vector<std::string> debug_directories = {"/usr/lib/debug"};
    /// Until when the servers of DEBUGINFOD_URLS may be asked, for all files together. Not given: they are not asked.
    std::optional<std::chrono::steady_clock::time_point> debuginfod_until;
    unsigned workers = 0;                                           // 0: one per CPU in the affinity mask
    std::optional<std::chrono::steady_clock::time_point> deadline;  // afterwards names come from symbol tables only
    std::uint32_t pid = 0;                                          // for /tmp/perf-PID.map; 0: none
    std::uint64_t start_monotonic_ns = 0;                           // of the run, as RunInfo
    /// The profile was taken since this machine booted: only then do kernel and vdso addresses mean anything here.
    bool same_boot = false;
    /// False: paths of the profile may be another container's, so only files with the profile's build ids are used.
    /// load_profile() sets it where `paths_by_place` is set and the profile says where it comes from.
    bool same_place = true;
    bool paths_by_place = false;
    /// Gives the root directory of the container where a run's paths were seen; null where that is not possible. Called
    /// only if they were seen in another place than this process's, and from one thread at a time.
    std::function<std::shared_ptr<const Descriptor>(const RunInfo& run)> root_of;
    /// The result of root_of: paths are looked up below it first.
    std::shared_ptr<const Descriptor> root;
    /// Of debug information no more is read than this many bytes of all files, those with the most locations first; a
    /// separate debug file counts twenty times. `notes` says how many were not read. 0: symbol tables only.
    std::uint64_t most_debug_bytes_in_all = ~std::uint64_t{0};
    /// Lets load_profile() set most_debug_bytes_in_all for a run of few samples, so that looking up names takes no
    /// longer than the run did.
    bool spare_brief_runs = false;
    std::vector<std::string>* notes = nullptr;
    /// Asked by load_profile(), with what it knows by then: its run, threads, mappings. False: code stays without
    /// frames. Not given: names are looked up.
    std::function<bool(const NamedProfile& profile)> names_wanted;
    /// Gives the bytes of an ELF file that cannot be opened by its path any more (deleted, replaced, a memfd). May be
    /// called from several threads at a time. An empty function: there is no such source.
    std::function<std::optional<std::string>(const Mapping& mapping)> read_image;
    /// Work done and work in all, in addresses. Called from one thread at a time.
    std::function<void(std::size_t done, std::size_t all)> progress;
};

/// One function at an address, inlined or not; the first of a chain is the innermost.
struct Symbol {
    std::string name;  // demangled
    std::string file;
    std::uint32_t line = 0;       // being executed, or of the inlined call
    std::uint32_t decl_line = 0;  // where the function is declared
    bool inlined = false;         // into the next Symbol
};

/// For each location its functions, innermost first.
using SymbolChains = std::vector<std::vector<Symbol>>;

/// Names for every location, in the locations' order, innermost first, never empty: where nothing is known the name is
/// `[unknown in FILE]`, or the address in hex where there is no file. Notes and scopes get their names too. `strings`
/// are the profile's (scope labels).
SymbolChains symbolize(const std::vector<Mapping>& mappings, const std::vector<Location>& locations,
                       const std::vector<std::string>& strings, const SymbolizeOptions& options,
                       std::vector<std::string>& warnings);

}  // namespace flameprobe
