#include "unwind/expression.hpp"

#include <dwarf.h>

#include <array>
#include <utility>

#include "base/byte_reader.hpp"

namespace flameprobe {
namespace {

using Word = std::uint64_t;

Word truth(bool condition) { return condition ? 1 : 0; }
Word as_word(std::int64_t value) { return static_cast<Word>(value); }

std::optional<Word> divided(std::int64_t left, std::int64_t right) {
    if (right == 0 || (right == -1 && left == INT64_MIN)) return std::nullopt;
    return as_word(left / right);
}

/// Relational operations, division and shra are signed (DWARF 5, 2.5.1.4 and 2.5.1.5).
std::optional<Word> binary(unsigned operation, Word left, Word right) {
    const auto signed_left = static_cast<std::int64_t>(left), signed_right = static_cast<std::int64_t>(right);
    switch (operation) {
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
            return as_word(signed_left >> (right < 64 ? right : 63));
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
    Evaluation(std::span<const std::byte> expression, FrameState& frame) : in_(expression), frame_(frame) {}

    std::optional<Word> run(std::optional<Word> first) {
        if (first) push(first);
        for (std::size_t steps = 0; !in_.at_end(); ++steps)
            if (steps == most_steps || !apply(in_.u8())) return std::nullopt;
        return in_.ok() ? pop() : std::nullopt;
    }

private:
    static constexpr std::size_t most_steps = 1000, deepest = 64;

    bool push(std::optional<Word> value) {
        if (!value || !in_.ok() || size_ == deepest) return false;
        stack_[size_++] = *value;
        return true;
    }
    std::optional<Word> pop() { return size_ == 0 ? std::nullopt : std::optional(stack_[--size_]); }
    bool push_copy(Word depth) { return depth < size_ && push(stack_[size_ - 1 - depth]); }

    bool apply(unsigned operation);
    bool push_constant(unsigned operation);
    bool arrange(unsigned operation);
    bool apply_to_top(unsigned operation);
    bool push_register(Word number) {
        const Word offset = as_word(in_.sleb128());
        const auto value = frame_.register_value(number);
        return value && push(*value + offset);
    }
    std::optional<Word> loaded(Word address, Word bytes) {
        const auto word = frame_.word(address);
        if (!word || bytes == 0 || bytes > sizeof(Word)) return std::nullopt;
        return bytes == sizeof(Word) ? *word : *word & ((Word{1} << (8 * bytes)) - 1);
    }
    /// The distance counts from the operation's end.
    bool jump(bool is_taken) {
        const Word distance = as_word(in_.fixed<std::int16_t>());
        if (is_taken) in_.seek(in_.position() + distance);
        return in_.ok();
    }

    ByteReader in_;
    FrameState& frame_;
    std::size_t size_ = 0;
    std::array<Word, deepest> stack_;
};

bool Evaluation::apply(unsigned operation) {
    if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) return push(operation - DW_OP_lit0);
    if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) return push_register(operation - DW_OP_breg0);
    if (operation >= DW_OP_const1u && operation <= DW_OP_consts) return push_constant(operation);
    switch (operation) {
        case DW_OP_bregx:
            return push_register(in_.varint());
        case DW_OP_nop:
            return true;
        case DW_OP_skip:
            return jump(true);
        default:
            return arrange(operation);
    }
}

bool Evaluation::push_constant(unsigned operation) {
    switch (operation) {
        case DW_OP_const1u:
            return push(in_.u8());
        case DW_OP_const1s:
            return push(as_word(in_.fixed<std::int8_t>()));
        case DW_OP_const2u:
            return push(in_.fixed<std::uint16_t>());
        case DW_OP_const2s:
            return push(as_word(in_.fixed<std::int16_t>()));
        case DW_OP_const4u:
            return push(in_.u32());
        case DW_OP_const4s:
            return push(as_word(in_.fixed<std::int32_t>()));
        case DW_OP_constu:
            return push(in_.varint());
        case DW_OP_consts:
            return push(as_word(in_.sleb128()));
        default:  // DW_OP_const8u, DW_OP_const8s
            return push(in_.u64());
    }
}

bool Evaluation::arrange(unsigned operation) {
    switch (operation) {
        case DW_OP_dup:
            return push_copy(0);
        case DW_OP_over:
            return push_copy(1);
        case DW_OP_pick:
            return push_copy(in_.u8());
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

bool Evaluation::apply_to_top(unsigned operation) {
    const auto top = pop();
    if (!top) return false;
    switch (operation) {
        case DW_OP_deref:
            return push(loaded(*top, sizeof(Word)));
        case DW_OP_deref_size:
            return push(loaded(*top, in_.u8()));
        case DW_OP_plus_uconst:
            return push(*top + in_.varint());
        case DW_OP_neg:
            return push(0 - *top);
        case DW_OP_not:
            return push(~*top);
        case DW_OP_abs:
            return push(static_cast<std::int64_t>(*top) < 0 ? 0 - *top : *top);
        case DW_OP_bra:
            return jump(*top != 0);
        default: {
            const auto left = pop();
            return left && push(binary(operation, *left, *top));
        }
    }
}

}  // namespace

std::optional<std::uint64_t> evaluate(std::span<const std::byte> expression, std::optional<std::uint64_t> first,
                                      FrameState& frame) {
    return Evaluation(expression, frame).run(first);
}

std::optional<ExpressionPlace> place_of(std::span<const std::byte> expression) {
    ExpressionPlace place;
    ByteReader in(expression);
    constexpr unsigned none = ~0U;
    unsigned operation = none;
    const auto next = [&] { operation = in.at_end() ? none : in.u8(); };
    next();
    if (operation == DW_OP_bregx || (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)) {
        place.base = operation == DW_OP_bregx ? in.varint() : operation - DW_OP_breg0;
        place.offset = in.sleb128();
        next();
    } else if (operation == DW_OP_plus_uconst) {
        place.offset = static_cast<std::int64_t>(in.varint());
        next();
    }
    place.loaded = operation == DW_OP_deref;
    if (place.loaded) next();
    return in.ok() && operation == none ? std::optional(place) : std::nullopt;
}

}  // namespace flameprobe
