// DWARF expressions (DWARF 5, section 2.5.1), as call frame information has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace flameprobe {

/// What an expression may ask for; nothing where it is not known.
class FrameState {
public:
    virtual ~FrameState() = default;
    virtual std::optional<std::uint64_t> register_value(std::uint64_t dwarf_register) = 0;
    virtual std::optional<std::uint64_t> word(std::uint64_t address) = 0;
};

/// `first` is on the stack before it begins: a register's has the CFA there, the CFA's own nothing. Nothing if the
/// expression is malformed, does not end, or needs what the frame does not know.
std::optional<std::uint64_t> evaluate(std::span<const std::byte> expression, std::optional<std::uint64_t> first,
                                      FrameState& frame);

/// A register plus a constant, or the word there: what most expressions are.
struct ExpressionPlace {
    std::optional<std::uint64_t> base;  // nothing: what is on the stack when it begins
    std::int64_t offset = 0;
    bool loaded = false;
};
/// Nothing if the expression stands for more than that, such as the one of PLT stubs, which asks for the pc.
std::optional<ExpressionPlace> place_of(std::span<const std::byte> expression);

}  // namespace flameprobe
