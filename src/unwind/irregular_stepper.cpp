#include "unwind/irregular_stepper.hpp"

#include <dwarf.h>

#include <utility>

namespace flameprobe {
namespace {

using Word = std::uint64_t;

Word truth(bool condition) { return condition ? 1 : 0; }

std::optional<Word> divided(std::int64_t left, std::int64_t right) {
    if (right == 0 || (right == -1 && left == INT64_MIN)) return std::nullopt;
    return static_cast<Word>(left / right);
}

/// Relational operations, division and shra are signed (DWARF 5, 2.5.1.4 and 2.5.1.5).
std::optional<Word> binary(unsigned atom, Word left, Word right) {
    const auto signed_left = static_cast<std::int64_t>(left), signed_right = static_cast<std::int64_t>(right);
    switch (atom) {
        case DW_OP_plus:
            return left + right;
        case DW_OP_minus:
            return left - right;
        case DW_OP_mul:
            return left * right;
        case DW_OP_div:
            return divided(signed_left, signed_right);
        case DW_OP_mod:
            return right == 0 ? std::nullopt : std::optional(left % right);
        case DW_OP_and:
            return left & right;
        case DW_OP_or:
            return left | right;
        case DW_OP_xor:
            return left ^ right;
        case DW_OP_shl:
            return right < 64 ? left << right : 0;
        case DW_OP_shr:
            return right < 64 ? left >> right : 0;
        case DW_OP_shra:
            return static_cast<Word>(signed_left >> (right < 64 ? right : 63));
        case DW_OP_eq:
            return truth(left == right);
        case DW_OP_ne:
            return truth(left != right);
        case DW_OP_lt:
            return truth(signed_left < signed_right);
        case DW_OP_le:
            return truth(signed_left <= signed_right);
        case DW_OP_gt:
            return truth(signed_left > signed_right);
        case DW_OP_ge:
            return truth(signed_left >= signed_right);
        default:
            return std::nullopt;
    }
}

class Evaluation {
public:
    Evaluation(const Dwarf_Op* operations, std::size_t count, FrameState& frame)
        : operations_(operations), count_(count), frame_(frame) {}

    std::optional<Evaluated> run() {
        for (std::size_t steps = 0; next_ < count_; ++steps)
            if (steps == most_steps || !apply(operations_[next_++])) return std::nullopt;
        const auto top = pop();
        if (!top) return std::nullopt;
        return Evaluated{*top, is_value_};
    }

private:
    static constexpr std::size_t most_steps = 1000, deepest = 64;

    bool push(std::optional<Word> value) {
        if (!value || size_ == deepest) return false;
        stack_[size_++] = *value;
        return true;
    }
    std::optional<Word> pop() { return size_ == 0 ? std::nullopt : std::optional(stack_[--size_]); }
    bool push_copy(Word depth) { return depth < size_ && push(stack_[size_ - 1 - depth]); }

    bool apply(const Dwarf_Op& operation);
    bool apply_to_top(const Dwarf_Op& operation);
    bool arrange(const Dwarf_Op& operation);
    bool jump(const Dwarf_Op& operation);
    bool push_register(unsigned number, Word offset) {
        const auto value = frame_.register_value(number);
        return value && push(*value + offset);
    }
    std::optional<Word> loaded(Word address, Word bytes) {
        const auto word = frame_.word(address);
        if (!word || bytes == 0 || bytes > sizeof(Word)) return std::nullopt;
        return bytes == sizeof(Word) ? *word : *word & ((Word{1} << (8 * bytes)) - 1);
    }

    const Dwarf_Op* operations_;
    std::size_t count_, next_ = 0, size_ = 0;
    FrameState& frame_;
    bool is_value_ = false;
    std::array<Word, deepest> stack_{};
};

bool Evaluation::apply(const Dwarf_Op& operation) {
    const unsigned atom = operation.atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) return push(atom - DW_OP_lit0);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) return push_register(atom - DW_OP_breg0, operation.number);
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) return is_value_ = push_register(atom - DW_OP_reg0, 0);
    switch (atom) {
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
            return push(operation.number);  // libdw has sign-extended already
        case DW_OP_bregx:
            return push_register(static_cast<unsigned>(operation.number), operation.number2);
        case DW_OP_regx:
            return is_value_ = push_register(static_cast<unsigned>(operation.number), 0);
        case DW_OP_call_frame_cfa:
            return push(frame_.cfa());
        case DW_OP_stack_value:
            return is_value_ = true;
        case DW_OP_nop:
            return true;
        case DW_OP_skip:
            return jump(operation);
        default:
            return arrange(operation);
    }
}

bool Evaluation::arrange(const Dwarf_Op& operation) {
    switch (operation.atom) {
        case DW_OP_dup:
            return push_copy(0);
        case DW_OP_over:
            return push_copy(1);
        case DW_OP_pick:
            return push_copy(operation.number);
        case DW_OP_drop:
            return pop().has_value();
        case DW_OP_swap:
            if (size_ < 2) return false;
            std::swap(stack_[size_ - 1], stack_[size_ - 2]);
            return true;
        case DW_OP_rot:  // the top becomes the third
            if (size_ < 3) return false;
            std::swap(stack_[size_ - 1], stack_[size_ - 2]);
            std::swap(stack_[size_ - 2], stack_[size_ - 3]);
            return true;
        default:
            return apply_to_top(operation);
    }
}

bool Evaluation::apply_to_top(const Dwarf_Op& operation) {
    const auto top = pop();
    if (!top) return false;
    switch (operation.atom) {
        case DW_OP_deref:
            return push(loaded(*top, sizeof(Word)));
        case DW_OP_deref_size:
            return push(loaded(*top, operation.number));
        case DW_OP_plus_uconst:
            return push(*top + operation.number);
        case DW_OP_neg:
            return push(0 - *top);
        case DW_OP_not:
            return push(~*top);
        case DW_OP_abs:
            return push(static_cast<std::int64_t>(*top) < 0 ? 0 - *top : *top);
        case DW_OP_bra:
            return *top == 0 || jump(operation);
        default: {
            const auto left = pop();
            return left && push(binary(operation.atom, *left, *top));
        }
    }
}

/// The distance counts from the operation's end, in the expression's bytes.
bool Evaluation::jump(const Dwarf_Op& operation) {
    constexpr Word bytes = 3;
    const Word target = operation.offset + bytes + static_cast<Word>(static_cast<std::int16_t>(operation.number));
    for (std::size_t i = 0; i < count_; ++i) {
        // libdw puts an operation of its own in front (DW_OP_call_frame_cfa), which has offset 0 like the first.
        const bool is_own = i == 0 && count_ > 1 && operations_[1].offset == operations_[0].offset;
        if (!is_own && operations_[i].offset == target) {
            next_ = i;
            return true;
        }
    }
    return false;
}

}  // namespace

std::optional<Evaluated> evaluate(const Dwarf_Op* operations, std::size_t count, FrameState& frame) {
    return Evaluation(operations, count, frame).run();
}

}  // namespace flameprobe
