#include "unwind/location.hpp"

#include <dwarf.h>

#include <array>

#include "cpu/arch.hpp"

namespace flameprobe {
namespace {

using Origin = SlotLocation::Origin;

constexpr std::size_t deepest = 8;  // the PLT's expression, the deepest in use, needs 4

class Reducer {
public:
    explicit Reducer(std::uint64_t pc) : pc_(pc) {}

    bool apply(const Dwarf_Op& operation);
    std::optional<SlotLocation> result() const {
        // A register rule's expression starts with the CFA on the stack (DWARF 5, 6.4.2.3), used or not.
        if (size_ == 0) return std::nullopt;
        return stack_[size_ - 1];
    }

private:
    bool push(SlotLocation value) {
        if (size_ == deepest) return false;
        stack_[size_++] = value;
        return true;
    }
    bool push_constant(std::uint64_t value) {
        return push({Origin::constant, 0, static_cast<std::int64_t>(value), false});
    }
    bool push_register(unsigned number, std::uint64_t offset) {
        if (number == Arch::return_address) return push_constant(pc_ + offset);
        return push({Origin::base, number, static_cast<std::int64_t>(offset), false});
    }
    bool add(std::uint64_t offset) {
        if (size_ == 0 || stack_[size_ - 1].loaded) return false;
        SlotLocation& top = stack_[size_ - 1];
        top.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(top.offset) + offset);
        return true;
    }
    bool load() {
        if (size_ == 0 || stack_[size_ - 1].loaded || stack_[size_ - 1].origin == Origin::constant) return false;
        stack_[size_ - 1].loaded = true;
        return true;
    }
    bool binary(unsigned atom);

    std::uint64_t pc_;
    std::array<SlotLocation, deepest> stack_{};
    std::size_t size_ = 0;
};

bool arithmetic(unsigned atom, std::uint64_t left, std::uint64_t right, std::uint64_t& out) {
    const auto signed_left = static_cast<std::int64_t>(left), signed_right = static_cast<std::int64_t>(right);
    switch (atom) {
        case DW_OP_plus:
            out = left + right;
            return true;
        case DW_OP_minus:
            out = left - right;
            return true;
        case DW_OP_mul:
            out = left * right;
            return true;
        case DW_OP_and:
            out = left & right;
            return true;
        case DW_OP_or:
            out = left | right;
            return true;
        case DW_OP_xor:
            out = left ^ right;
            return true;
        case DW_OP_shl:
            out = right < 64 ? left << right : 0;
            return true;
        case DW_OP_shr:
            out = right < 64 ? left >> right : 0;
            return true;
        // Relational operations compare as signed (DWARF 5, 2.5.1.5).
        case DW_OP_ge:
            out = signed_left >= signed_right;
            return true;
        case DW_OP_gt:
            out = signed_left > signed_right;
            return true;
        case DW_OP_le:
            out = signed_left <= signed_right;
            return true;
        case DW_OP_lt:
            out = signed_left < signed_right;
            return true;
        case DW_OP_eq:
            out = left == right;
            return true;
        case DW_OP_ne:
            out = left != right;
            return true;
        default:
            return false;
    }
}

bool Reducer::binary(unsigned atom) {
    if (size_ < 2) return false;
    const SlotLocation right = stack_[--size_];
    SlotLocation& left = stack_[size_ - 1];
    if (right.loaded || left.loaded) return false;
    if (atom == DW_OP_plus && left.origin == Origin::constant) {  // constant + register
        const std::int64_t offset = left.offset;
        left = right;
        return add(static_cast<std::uint64_t>(offset));
    }
    if (right.origin != Origin::constant) return false;
    const auto value = static_cast<std::uint64_t>(right.offset);
    if (left.origin != Origin::constant) {
        if (atom != DW_OP_plus && atom != DW_OP_minus) return false;
        return add(atom == DW_OP_plus ? value : 0 - value);
    }
    std::uint64_t out = 0;
    if (!arithmetic(atom, static_cast<std::uint64_t>(left.offset), value, out)) return false;
    left.offset = static_cast<std::int64_t>(out);
    return true;
}

bool Reducer::apply(const Dwarf_Op& operation) {
    const unsigned atom = operation.atom;
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) return push_register(atom - DW_OP_breg0, operation.number);
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) return push_constant(atom - DW_OP_lit0);
    switch (atom) {
        case DW_OP_bregx:
            return push_register(static_cast<unsigned>(operation.number), operation.number2);
        case DW_OP_call_frame_cfa:
            return push({Origin::cfa, 0, 0, false});
        case DW_OP_const1u:
        case DW_OP_const1s:
        case DW_OP_const2u:
        case DW_OP_const2s:
        case DW_OP_const4u:
        case DW_OP_const4s:
        case DW_OP_const8u:
        case DW_OP_const8s:
        case DW_OP_constu:
        case DW_OP_consts:
            return push_constant(operation.number);  // libdw has sign-extended already
        case DW_OP_plus_uconst:
            return add(operation.number);
        case DW_OP_deref:
            return load();
        case DW_OP_nop:
            return true;
        default:
            return binary(atom);
    }
}

}  // namespace

std::optional<SlotLocation> reduce(const Dwarf_Op* operations, std::size_t count, std::uint64_t pc) {
    Reducer reducer(pc);
    for (std::size_t i = 0; i < count; ++i)
        if (!reducer.apply(operations[i])) return std::nullopt;
    return reducer.result();
}

}  // namespace flameprobe
