// Intel SDM volume 2: PUSH, POP, ADD, SUB, CALL, RET, ENDBR64.
#include <array>
#include <cstring>
#include <span>

#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

enum : unsigned { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, registers = 16 };

/// Follows the stack pointer, in bytes from where it is now, through instructions that it knows.
class EpilogueWalk {
public:
    explicit EpilogueWalk(std::span<const std::uint8_t> code) : code_(code) {
        for (unsigned number = 0; number < registers; ++number) values_[number] = {Value::In::same, number};
    }

    /// False where an instruction is not known.
    bool to_return() {
        while (!returned_)
            if (!step()) return false;
        return true;
    }
    /// The same for a trap. Moves behind calls count here: all of that code belongs together.
    bool to_trap() {
        while (!is_trap()) {
            const bool constant = (at(0) & 0xf8) == 0xb8, system_call = at(0) == 0x0f && at(1) == 0x05;
            called_ = moved_ = false;
            const bool known = constant ? go_on(5, 0) : system_call ? go_on(2, 0) : step();
            if (!known || returned_) return false;
        }
        return true;
    }
    std::int64_t sp() const { return sp_; }
    /// What a register will have at the return: what another has now, or what lies on the stack.
    struct Value {
        enum class In : std::uint8_t { same, slot, unknown } in = In::unknown;
        std::int64_t number = 0;  // the register's number, or the slot
    };
    Value value(unsigned number) const { return values_[number]; }
    /// Whether the code jumps to what a register has, instead of returning.
    bool jumps() const { return jumps_to_ != no_register; }
    Value target() const { return values_[jumps_to_]; }

private:
    static constexpr unsigned no_register = registers;
    std::uint8_t at(std::size_t i) const { return place_ + i < code_.size() ? code_[place_ + i] : 0; }

    bool is_trap() const {  // hlt, int3, ud2
        return at(0) == 0xf4 || at(0) == 0xcc || (at(0) == 0x0f && at(1) == 0x0b);
    }

    bool step() {
        const std::uint8_t rex = (at(0) & 0xf0) == 0x40 ? at(0) : 0;
        const std::size_t prefix = rex != 0 ? 1 : 0;
        const unsigned more = (rex & 1) << 3;  // r8 to r15
        const std::uint8_t first = at(prefix), second = at(prefix + 1);
        if ((first & 0xf8) == 0x50) return go_on(prefix + 1, -8);
        if ((first & 0xf8) == 0x58) return pop((first & 7) | more, prefix + 1);
        if (first == 0xff && (second & 0xf8) == 0xd0) return call(prefix + 2);  // *%reg
        if (first == 0xff && (second & 0xf8) == 0xe0) return jump((second & 7) | more);
        if (rex == 0x48 && (first == 0x83 || first == 0x81)) return move_sp(first == 0x83);
        if (first == 0x89 || first == 0x8b || first == 0x8d || first == 0x31) return move(rex, first);
        if (rex != 0) return false;
        if (first == 0xe8) return call(5);
        if (first == 0xf3 && second == 0x0f && at(2) == 0x1e && at(3) == 0xfa) return go_on(4, 0);
        const unsigned operation = first == 0xd9 ? second >> 3 & 7 : 0, vector = at(2) >> 3 & 7;
        if (operation == 5 || operation == 7) return second < 0xc0 && skip(1 + operand_size(1));  // fldcw, fnstcw
        if (first == 0x0f && second == 0xae && (vector == 2 || vector == 3))                      // ldmxcsr, stmxcsr
            return at(2) < 0xc0 && skip(2 + operand_size(2));
        returned_ = first == 0xc3 || ((first == 0xf3 || first == 0xf2) && second == 0xc3);
        return returned_;
    }

    /// Bytes of the ModRM byte at `place`, and of what belongs to it.
    std::size_t operand_size(std::size_t place) const {
        const unsigned mode = at(place) >> 6, rm = at(place) & 7;
        const std::size_t sib = mode != 3 && rm == 4 ? 1 : 0;
        const bool no_base = mode == 0 && (rm == 5 || (sib != 0 && (at(place + 1) & 7) == 5));
        return 1 + sib + (mode == 1 ? 1 : mode == 2 || no_base ? 4 : 0);
    }

    /// mov, lea and xor. A switch of coroutines saves registers, and loads those of the one that goes on.
    bool move(std::uint8_t rex, std::uint8_t operation) {
        const std::size_t prefix = rex != 0 ? 1 : 0, size = prefix + 1 + operand_size(prefix + 1);
        const std::uint8_t operands = at(prefix + 1);
        const unsigned reg = (operands >> 3 & 7) | (rex & 4) << 1, rm = (operands & 7) | (rex & 1) << 3;
        const bool wide = (rex & 8) != 0, of_stack = rm == rsp && at(prefix + 2) == 0x24;
        if (operands >= 0xc0) {
            const bool loads = operation == 0x8b;
            const unsigned to = loads ? reg : rm, from = loads ? rm : reg;
            if (to == rsp || operation == 0x8d) return false;
            values_[to] = wide && operation != 0x31 && from != rsp ? values_[from] : Value{};
            return skip(size);
        }
        if (operation == 0x31) return false;
        if (operation == 0x89) return !of_stack && skip(size);
        std::int64_t distance = 0;
        if ((operands >> 6) == 1) distance = static_cast<std::int8_t>(at(prefix + 3));
        if ((operands >> 6) == 2) distance = wide_at(prefix + 3);
        if (operation == 0x8d && reg == rsp) return of_stack && wide && skip(size, distance);
        if (reg == rsp) return false;
        const bool slot = operation == 0x8b && of_stack && wide && sp_ + distance >= 0;
        values_[reg] = slot ? Value{Value::In::slot, sp_ + distance} : Value{};
        return skip(size);
    }

    std::int32_t wide_at(std::size_t place) const {
        std::int32_t wide = 0;
        const std::array<std::uint8_t, 4> bytes{at(place), at(place + 1), at(place + 2), at(place + 3)};
        std::memcpy(&wide, bytes.data(), sizeof wide);
        return wide;
    }

    bool move_sp(bool is_byte) {
        const bool is_add = at(2) == 0xc4;
        if (!is_add && at(2) != 0xec) return false;
        const std::int32_t by = is_byte ? static_cast<std::int8_t>(at(3)) : wide_at(3);
        return go_on(is_byte ? 4 : 7, is_add ? by : -std::int64_t{by});
    }

    bool pop(unsigned number, std::size_t length) {
        if (number == rsp) return false;
        // A value that is pushed on the way is the one that the register holds now.
        values_[number] = sp_ >= 0 ? Value{Value::In::slot, sp_} : Value{Value::In::same, number};
        return go_on(length, 8);
    }

    // Behind a call that does not return there may be another function: what it moves says nothing.
    bool call(std::size_t length) { return called_ = true, !moved_ && go_on(length, 0); }
    bool skip(std::size_t length, std::int64_t by = 0) { return moved_ = true, !called_ && go_on(length, by); }
    bool jump(unsigned number) { return jumps_to_ = number, returned_ = true, !called_; }

    bool go_on(std::size_t length, std::int64_t moved) {
        constexpr std::int64_t largest = 1 << 20;
        place_ += length;
        sp_ += moved;
        return place_ < code_.size() && sp_ > -largest && sp_ < largest;
    }

    std::span<const std::uint8_t> code_;
    std::size_t place_ = 0;
    std::int64_t sp_ = 0;
    std::array<Value, registers> values_;
    unsigned jumps_to_ = no_register;
    bool returned_ = false, called_ = false, moved_ = false;
};

/// HotSpot's methods that call nothing begin so: sub $N, %rsp; mov %rbp, N-8(%rsp); mov %rsp, %rbp; add $N-8, %rbp, the
/// first with four bytes for N. Until the last one is over, the record that the frame pointer leads to is the caller's.
bool prologue_of_leaf_method(std::uint64_t address, UnwindRule& rule) {
    constexpr std::array<std::size_t, 4> instructions{0, 7, 12, 15};
    for (const std::size_t before : instructions) {
        std::array<std::uint8_t, 19> code{};
        if (read_self(address - before, std::as_writable_bytes(std::span(code))) != code.size()) continue;
        const std::uint8_t size = code[3], slot = code[11];
        const std::array<std::uint8_t, 19> expected{0x48, 0x81, 0xec, size, 0,    0,    0,    0x48, 0x89, 0x6c,
                                                    0x24, slot, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xc5, slot};
        if (code != expected || size < 8 || size >= 0x80 || slot != size - 8) continue;
        rule.set_frame_above_sp(before == 0 ? 8 : size + 8, -8, before < instructions[2] ? UnwindRule::same : -16);
        return true;
    }
    return false;
}

}  // namespace

bool epilogue_rule(std::uint64_t address, UnwindRule& rule) {
    using In = EpilogueWalk::Value::In;
    constexpr std::array<std::uint8_t, registers> dwarf_numbers{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
    if (prologue_of_leaf_method(address, rule)) return true;
    std::array<std::uint8_t, 128> bytes{};
    const std::size_t size = read_self(address, std::as_writable_bytes(std::span(bytes)));
    EpilogueWalk way{std::span<const std::uint8_t>(bytes).first(size)};
    if (!way.to_return() || way.sp() < 0) return false;
    const auto frame_size = static_cast<std::int32_t>(way.sp() + (way.jumps() ? 0 : 8));
    const auto slot = [&](unsigned number) {
        const auto value = way.value(number);
        if (value.in == In::slot) return static_cast<std::int32_t>(value.number) - frame_size;
        return value.in == In::same && value.number == number ? UnwindRule::same : UnwindRule::lost;
    };
    rule.set_frame_above_sp(frame_size, -8, slot(rbp), slot(rbx));
    if (!way.jumps()) return true;
    const auto target = way.target();
    if (target.in == In::slot) rule.ra_slot = static_cast<std::int32_t>(target.number) - frame_size;
    if (target.in == In::same) rule.ra_register = dwarf_numbers[static_cast<std::size_t>(target.number)];
    return target.in != In::unknown;
}

bool never_returns(std::uint64_t address) {
    std::array<std::uint8_t, 64> bytes{};
    const std::size_t size = read_self(address, std::as_writable_bytes(std::span(bytes)));
    return EpilogueWalk(std::span<const std::uint8_t>(bytes).first(size)).to_trap();
}

}  // namespace flameprobe
