// Call frame instructions (DWARF 5, section 6.4.2) run up to an address: a pure function from bytes to a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/cfi_entry.hpp"

namespace flameprobe {

/// Where a register's value in the caller is, or the CFA (DWARF 5, section 6.4.1).
struct CfiRule {
    enum class How : std::uint8_t {
        unspecified,  // no instruction mentions it: compilers mean that it is kept
        undefined,
        same_value,
        offset,          // at CFA + number
        val_offset,      // is CFA + number
        in_register,     // in register `number`
        expression,      // at what the expression gives, which begins with the CFA on its stack
        val_expression,  // is what it gives
    };
    How how;
    std::uint32_t size;   // of the expression, in bytes
    std::int64_t number;  // of an expression: where it begins in the section

    bool operator==(const CfiRule&) const = default;
};

/// What the instructions say of the addresses from `start` to `end`, in the file.
struct CfiRow {
    /// DWARF's numbers below it are followed: all general registers, and those that the Windows ABI preserves. What is
    /// said of others is passed over, however many there are.
    static constexpr std::size_t registers = 33;

    std::uint64_t start = 0, end = 0;
    CfiRule cfa{};  // val_offset: cfa_register + cfa_offset; val_expression; unspecified: there is none
    std::uint64_t cfa_register = 0;  // of any number
    std::int64_t cfa_offset = 0;     // the last one, also where an expression has taken its place
    std::array<CfiRule, registers> of{};
    CfiRule lookup(std::uint64_t number) const { return number < registers ? of[number] : CfiRule{}; }
};

/// False, and no more said, if the entry does not cover the address, or if there are wrong instructions before it.
/// `row` is to be a new one.
bool find_row(const CfiEntry& entry, std::uint64_t address, CfiRow& row);

/// The expression that a rule of a row of that section stands for.
inline std::span<const std::byte> expression_of(const CfiSection& section, const CfiRule& rule) {
    return section.bytes.subspan(static_cast<std::size_t>(rule.number), rule.size);
}

}  // namespace flameprobe
