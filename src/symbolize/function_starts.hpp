// Functions that no symbol names, told apart by the unwind tables.
#pragma once

#include <optional>

#include "base/function_index.hpp"
#include "symbolize/elf_file.hpp"

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

}  // namespace flameprobe
