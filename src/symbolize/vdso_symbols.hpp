// The vdso is in no file: its image lies in every process, ours included, and is the same in all on one boot.
#pragma once

#include <memory>

#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

class VdsoSymbols {
public:
    /// Of the running kernel; finds nothing where there is no vdso, or where its build id is another.
    /// `build_id`: raw bytes, empty if unknown.
    explicit VdsoSymbols(const std::string& build_id);

    /// The function at an offset into the image, empty if unknown.
    std::string find(std::uint64_t offset) const;

private:
    std::unique_ptr<ElfFile> file_;
    SymbolTable symbols_;
};

}  // namespace flameprobe
