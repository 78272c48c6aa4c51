// What libdw says of call frame information, to compare with.
#pragma once

#include <elfutils/libdw.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unwind/cfi_row.hpp"

namespace flameprobe::testing {

/// One description and its common entry, in a file of their own, which libdw reads: so that each can be asked about,
/// also where several cover an address. Throws std::runtime_error where libdw cannot read that.
class Oracle {
public:
    /// Whole entries, as they are in `section`, at these offsets; `machine`: EM_*.
    Oracle(const CfiSection& section, std::uint64_t description, std::uint64_t common, std::uint16_t machine);
    ~Oracle();
    Oracle(const Oracle&) = delete;
    Oracle& operator=(const Oracle&) = delete;

    struct Free {
        void operator()(Dwarf_Frame* frame) const;
    };
    using Frame = std::unique_ptr<Dwarf_Frame, Free>;
    /// Null if it has no row for the address.
    Frame frame(std::uint64_t address) const;

private:
    std::vector<std::byte> file_;
    Elf* elf_ = nullptr;
    Dwarf* dwarf_ = nullptr;
    Dwarf_CFI* cfi_ = nullptr;
};

/// What libdw says of registers that no instruction mentions, in a machine's files.
using Defaults = std::array<CfiRule::How, CfiRow::registers>;
Defaults defaults_of(std::uint16_t machine);

/// What `difference` tells of a CFA that libdw has not: where DW_CFA_def_cfa_register stands behind an expression, as
/// in libgcrypt's assembly. binutils takes the offset from before the expression, as we do, and the code
/// there, a return, proves it.
inline constexpr char no_cfa[] = " libdw has no CFA";

/// Where the two differ: empty if nowhere. Of expressions the operations are compared.
std::string difference(const CfiEntry& entry, const CfiRow& ours, Dwarf_Frame* theirs, const Defaults& defaults);

}  // namespace flameprobe::testing
