// Names for frames that are in no ELF file: notes, scopes, the kernel, the vdso, code made at run time, locks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/elf_file.hpp"
#include "symbolize/perf_map.hpp"
#include "symbolize/symbol_table.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// The running kernel's functions and those of its modules. Of its 100,000 and more symbols only those are kept that
/// the asked addresses need, a few dozen mostly.
class KernelSymbols {
public:
    /// `addresses`: those that find() will be called with, in any order.
    explicit KernelSymbols(std::vector<std::uint64_t> addresses);

    /// Adds the symbols of the running kernel; none where kptr_restrict hides the addresses (all are zero then).
    void add_running();
    /// Adds lines as in /proc/kallsyms, `ADDRESS TYPE NAME [MODULE]`.
    void add(std::string_view lines);

    /// The function's name, followed by ` [module]` for a module's; empty if unknown, or not among the addresses.
    std::string find(std::uint64_t address) const;
    /// Whether no symbol lies at or before any of the addresses.
    bool empty() const;

private:
    /// The best symbol after the asked address before, up to `address`.
    struct Asked {
        std::uint64_t address, start = 0;  // start 0: no symbol
        bool global = false;
        std::string name, module;
    };
    void add_line(std::string_view line);

    std::vector<Asked> asked_;  // sorted by address
};

/// Whether this process may see the addresses of the kernel's functions.
bool kernel_symbols_are_visible();

/// The vdso is in no file: its image lies in every process, ours included, and is the same in all on one boot.
class VdsoSymbols {
public:
    /// The vdso of the running kernel; finds nothing where there is none, or where its build id differs from
    /// `build_id`. `build_id`: raw bytes, empty if unknown.
    explicit VdsoSymbols(const std::string& build_id);

    /// The function at an offset into the image, empty if unknown.
    std::string find(std::uint64_t offset) const;

private:
    std::unique_ptr<ElfFile> file_;
    SymbolTable symbols_;
};

/// Reads its sources at first use, but the kernel's symbols, which take long, in prepare(). One thread at a time.
class OtherNames {
public:
    OtherNames(const std::vector<std::string>& strings, const SymbolizeOptions& options)
        : strings_(strings), options_(options) {}

    /// Reads /proc/kallsyms, which is slow, if a location needs it, and finds the mapped files that are dumps of
    /// just-in-time compilers.
    void prepare(const std::vector<Mapping>& mappings, const std::vector<Location>& locations);
    /// The name of the code at `address`, never empty. For a mapping of kind `file` only from the perf map and the
    /// dumps (some JITs map a file), else `[unknown in FILE]`.
    std::string name(const Mapping& mapping, std::uint64_t address);
    /// One line each, for a person: files of names that are not read.
    const std::vector<std::string>& warnings() const { return warnings_; }

private:
    std::string kernel_name(std::uint64_t address);
    std::string vdso_name(const Mapping& mapping, std::uint64_t address);
    std::string jit_name(const Mapping& mapping, std::uint64_t address);

    const std::vector<std::string>& strings_;
    const SymbolizeOptions& options_;
    std::unique_ptr<KernelSymbols> kernel_;
    std::unique_ptr<VdsoSymbols> vdso_;
    std::vector<std::string> jit_dumps_;
    std::vector<std::string> warnings_;
    std::unique_ptr<PerfMap> perf_map_;  // and what the dumps tell
};

/// Gives frames that say who holds a lock (is_holder_note()) the lock, by its variable of the program if there is one,
/// in the place of a source file (lock_file()).
void name_locks(const std::vector<Mapping>& mappings, const std::vector<Location>& locations,
                const SymbolizeOptions& options, SymbolChains& chains);

}  // namespace flameprobe
