// One mapped ELF file with its symbol tables, unwind tables and debug information.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/function_index.hpp"
#include "profile/model.hpp"
#include "symbolize/debug_file.hpp"
#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// The extents of functions without a symbol, from the unwind tables.
class FunctionStarts {
public:
    FunctionStarts() = default;
    /// `file` must outlive this.
    explicit FunctionStarts(const ElfFile& file);

    /// The function whose FDE covers an address of the file. Thread-safe.
    std::optional<FunctionExtent> find(std::uint64_t address) const;
    /// The last start at or before an address, without reading how far that function reaches; 0 if there is none.
    std::uint64_t last_start(std::uint64_t address) const { return index_.start_of(address); }

private:
    const ElfFile* file_ = nullptr;
    FunctionIndex index_;
};

/// The name that libstdc++ gives the routine in which a std::thread starts. It is a local symbol, which distributions
/// strip.
inline constexpr const char* thread_start_name = "std::execute_native_thread_routine";

/// Where such routines start in a file of x86-64, proven by its own code: std::thread::_M_start_thread, which is
/// exported, passes one function to pthread_create as the start routine.
std::vector<std::uint64_t> thread_starts(const ElfFile& file, const FunctionStarts& functions);

DebugFileSearch debug_search(const SymbolizeOptions& options);

/// What is missing, each a line for the user; empty if nothing is.
struct ModuleProblems {
    std::string file;       // shown only if names are missing in the end
    bool replaced = false;  // another file lies at its path
    std::string debuginfod;
};

/// Opened by one thread; afterwards any thread may read.
class Module {
public:
    /// Never fails: `problems` says which parts are missing.
    static Module open(const Mapping& mapping, const SymbolizeOptions& options, ModuleProblems& problems);
    /// Reads the symbols that can name these addresses of the file.
    void load_symbols(std::vector<std::uint64_t> addresses);

    /// The address in the file's own terms of an address in the process.
    std::optional<std::uint64_t> file_address(const Mapping& mapping, std::uint64_t address) const;
    const SymbolTable& symbols() const { return symbols_; }
    /// The variable that lies at an address of the process, as `name` or `name+0x10`, demangled; empty if none does.
    /// `code`: a mapping of the file, which tells where the loader put it.
    std::string variable(const Mapping& code, std::uint64_t address) const;
    /// Where functions begin in code that has no symbols.
    const FunctionStarts& functions() const { return functions_; }
    /// Whether std::thread's start routine begins at an address that has no symbol (thread_starts()). Looked for when
    /// first asked: one thread only.
    bool is_thread_start(std::uint64_t address);
    /// The file with `.debug_info`, or null.
    const ElfFile* debug_file() const { return debug_file_; }
    /// Bytes that reading the debug information would take, 0 if there is none.
    std::uint64_t debug_size() const;
    /// It is a file of its own, as a distribution's are.
    bool has_separate_debug_file() const { return debug_file_ != nullptr && debug_file_ == separate_.get(); }

private:
    bool open_in_container(const Mapping& mapping, const SymbolizeOptions& options);
    void open_main(const Mapping& mapping, const SymbolizeOptions& options, ModuleProblems& problems);
    void find_debug_file(const Mapping& mapping, const SymbolizeOptions& options, ModuleProblems& problems);
    void ask_debuginfod(const std::string& build_id, const SymbolizeOptions& options, ModuleProblems& problems);

    std::unique_ptr<ElfFile> main_;  // null if only a separate debug file was found
    std::unique_ptr<ElfFile> separate_;
    std::unique_ptr<ElfFile> mini_;  // from .gnu_debugdata
    const ElfFile* debug_file_ = nullptr;
    FunctionStarts functions_;
    SymbolTable symbols_;
    std::optional<std::vector<std::uint64_t>> thread_starts_;
};

}  // namespace flameprobe
