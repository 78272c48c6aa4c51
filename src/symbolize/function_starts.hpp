// The extents of functions without a symbol, from the unwind tables.
#pragma once

#include <optional>

#include "base/function_index.hpp"
#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

class FunctionStarts {
public:
    FunctionStarts() = default;
    /// `file` must outlive this.
    explicit FunctionStarts(const ElfFile& file);

    /// The function whose FDE covers an address of the file. Thread-safe.
    std::optional<FunctionExtent> find(std::uint64_t address) const;

private:
    const ElfFile* file_ = nullptr;
    FunctionIndex index_;
};

/// `_start`, where a stripped program's file still proves it: an executable that imports __libc_start_main is entered
/// in crt1.o's _start, and the unwind table says how far that reaches. So the root of the main thread's stack has a
/// name.
std::optional<ElfSymbol> entry_symbol(const ElfFile& file, const FunctionStarts& functions);

}  // namespace flameprobe
