// One mapped ELF file with its symbol tables, unwind tables and debug information.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/debug_file.hpp"
#include "symbolize/elf_file.hpp"
#include "symbolize/function_starts.hpp"
#include "symbolize/symbol_table.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

DebugFileSearch debug_search(const SymbolizeOptions& options);

/// What is missing, each a line for the user; empty if nothing is.
struct ModuleProblems {
    std::string file;  // shown only if names are missing in the end
    std::string debuginfod;
};

/// Opened by one thread; afterwards any thread may read.
class Module {
public:
    /// Never fails: `problems` says which parts are missing.
    static Module open(const Mapping& mapping, const SymbolizeOptions& options, ModuleProblems& problems);

    /// The address in the file's own terms of an address in the process.
    std::optional<std::uint64_t> file_address(const Mapping& mapping, std::uint64_t address) const;
    const SymbolTable& symbols() const { return symbols_; }
    /// Where functions begin in code that has no symbols.
    const FunctionStarts& functions() const { return functions_; }
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
    void load_symbols();

    std::unique_ptr<ElfFile> main_;  // null if only a separate debug file was found
    std::unique_ptr<ElfFile> separate_;
    std::unique_ptr<ElfFile> mini_;  // from .gnu_debugdata
    const ElfFile* debug_file_ = nullptr;
    FunctionStarts functions_;
    SymbolTable symbols_;
};

}  // namespace flameprobe
