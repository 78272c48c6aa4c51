#include "unwind/frame_rule.hpp"

#include <elfutils/libdw.h>

#include <array>
#include <optional>

#include "cpu/arch.hpp"
#include "unwind/known_code.hpp"
#include "unwind/location.hpp"

namespace flameprobe {
namespace {

using Origin = SlotLocation::Origin;

std::optional<RuleBase> base_of(unsigned dwarf_register) {
    switch (dwarf_register) {
        case Arch::sp:
            return RuleBase::sp;
        case Arch::fp:
            return RuleBase::fp;
        case Arch::third:
            return RuleBase::third;
        default:
            return std::nullopt;
    }
}

std::optional<std::int32_t> narrow(std::int64_t offset) {
    if (offset <= INT32_MIN || offset > INT32_MAX) return std::nullopt;
    return static_cast<std::int32_t>(offset);
}

bool set_cfa(Dwarf_Frame& frame, std::uint64_t address, UnwindRule& rule) {
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (::dwarf_frame_cfa(&frame, &operations, &count) != 0 || count == 0) return false;
    const auto cfa = reduce(operations, count, address);
    if (!cfa || cfa->origin != Origin::base) return false;
    const auto base = base_of(cfa->base);
    const auto offset = narrow(cfa->offset);
    if (!base || !offset) return false;
    rule.base = *base;
    rule.cfa_offset = *offset;
    rule.cfa_is_loaded = cfa->loaded;
    return true;
}

/// Where a caller's register was saved.
struct Saved {
    enum class How : std::uint8_t { same, undefined, slot, other } how = How::other;
    SlotLocation slot;
};

Saved saved_register(Dwarf_Frame& frame, unsigned number, std::uint64_t address) {
    std::array<Dwarf_Op, 3> few{};
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (::dwarf_frame_register(&frame, static_cast<int>(number), few.data(), &operations, &count) != 0) return {};
    if (count == 0) return {operations == nullptr ? Saved::How::same : Saved::How::undefined, {}};
    // A value instead of a place ends in DW_OP_stack_value, another register is DW_OP_regx: neither can be reduced.
    const auto place = reduce(operations, count, address);
    if (!place || place->loaded || place->origin == Origin::constant) return {};
    return {Saved::How::slot, *place};
}

/// A rule's field for one saved register.
struct SlotField {
    std::int32_t* offset;
    SlotOrigin origin = SlotOrigin::cfa;

    bool set(const Saved& saved) {
        if (saved.how == Saved::How::other) return false;
        // libdw 0.188 calls registers undefined that no rule mentions, where compilers mean "same" (rbx above all).
        if (saved.how != Saved::How::slot) return *offset = UnwindRule::same, true;
        if (saved.slot.origin == Origin::base) {
            const auto base = base_of(saved.slot.base);
            if (!base) return false;
            origin = *base == RuleBase::sp   ? SlotOrigin::sp
                     : *base == RuleBase::fp ? SlotOrigin::fp
                                             : SlotOrigin::third;
        }
        const auto narrowed = narrow(saved.slot.offset);
        if (!narrowed) return false;
        *offset = *narrowed;
        return true;
    }
};

}  // namespace

UnwindRule rule_of_frame(Dwarf_Frame_s& frame, std::uint64_t address) {
    UnwindRule rule;
    rule.address = address;
    rule.kind = RuleKind::irregular;
    bool signal_frame = false;
    const int return_column = ::dwarf_frame_info(&frame, nullptr, nullptr, &signal_frame);
    if (return_column < 0) return rule;
    rule.signal_frame = signal_frame;
    const Saved return_address = saved_register(frame, static_cast<unsigned>(return_column), address);
    const bool has_cfa = set_cfa(frame, address, rule);
    // "undefined" is how _start, clone3 and the like say that they have no caller; the only proof of a whole stack.
    if (return_address.how == Saved::How::undefined) {
        rule.kind = RuleKind::root;
        return rule;
    }
    if (!has_cfa) return rule;
    SlotField ra{&rule.ra_slot}, fp{&rule.fp_slot}, third{&rule.third_slot};
    if (!ra.set(return_address) || !fp.set(saved_register(frame, Arch::fp, address)) ||
        !third.set(saved_register(frame, Arch::third, address)))
        return rule;
    rule.ra_origin = ra.origin;
    rule.fp_origin = fp.origin;
    rule.third_origin = third.origin;
    if (rule.ra_slot == UnwindRule::same && !Arch::return_address_in_register) return rule;
    rule.kind = RuleKind::step;
    mend_table_rule(rule);
    return rule;
}

}  // namespace flameprobe
