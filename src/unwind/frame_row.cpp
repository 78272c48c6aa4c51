#include "unwind/frame_row.hpp"

#include <elfutils/libdw.h>

#include <array>
#include <optional>

#include "unwind/arch.hpp"
#include "unwind/location.hpp"

namespace flameprobe {
namespace {

using Origin = SlotLocation::Origin;

std::optional<RowBase> base_of(unsigned dwarf_register) {
    switch (dwarf_register) {
        case Arch::sp:
            return RowBase::sp;
        case Arch::fp:
            return RowBase::fp;
        case Arch::third:
            return RowBase::third;
        default:
            return std::nullopt;
    }
}

std::optional<std::int32_t> narrow(std::int64_t offset) {
    if (offset <= INT32_MIN || offset > INT32_MAX) return std::nullopt;
    return static_cast<std::int32_t>(offset);
}

bool set_cfa(Dwarf_Frame& frame, std::uint64_t address, Row& row) {
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (::dwarf_frame_cfa(&frame, &operations, &count) != 0 || count == 0) return false;
    const auto cfa = reduce(operations, count, address);
    if (!cfa || cfa->origin != Origin::base) return false;
    const auto base = base_of(cfa->base);
    const auto offset = narrow(cfa->offset);
    if (!base || !offset) return false;
    row.base = *base;
    row.cfa_offset = *offset;
    row.cfa_is_loaded = cfa->loaded;
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

/// A row's field for one saved register.
struct SlotField {
    std::int32_t* offset;
    SlotOrigin origin = SlotOrigin::cfa;

    bool set(const Saved& saved) {
        if (saved.how == Saved::How::other) return false;
        // libdw 0.188 calls registers undefined that no rule mentions, where compilers mean "same" (rbx above all).
        if (saved.how != Saved::How::slot) return *offset = Row::same, true;
        if (saved.slot.origin == Origin::base) {
            const auto base = base_of(saved.slot.base);
            if (!base) return false;
            origin = *base == RowBase::sp ? SlotOrigin::sp : *base == RowBase::fp ? SlotOrigin::fp : SlotOrigin::third;
        }
        const auto narrowed = narrow(saved.slot.offset);
        if (!narrowed) return false;
        *offset = *narrowed;
        return true;
    }
};

}  // namespace

Row row_of_frame(Dwarf_Frame_s& frame, std::uint64_t address) {
    Row row;
    row.address = address;
    row.kind = RowKind::irregular;
    bool signal_frame = false;
    const int return_column = ::dwarf_frame_info(&frame, nullptr, nullptr, &signal_frame);
    if (return_column < 0) return row;
    row.signal_frame = signal_frame;
    const Saved return_address = saved_register(frame, static_cast<unsigned>(return_column), address);
    const bool has_cfa = set_cfa(frame, address, row);
    // "undefined" is how _start, clone3 and the like say that nobody called them; the only proof of a whole stack.
    if (return_address.how == Saved::How::undefined) {
        row.kind = RowKind::root;
        return row;
    }
    if (!has_cfa) return row;
    SlotField ra{&row.ra_slot}, fp{&row.fp_slot}, third{&row.third_slot};
    if (!ra.set(return_address) || !fp.set(saved_register(frame, Arch::fp, address)) ||
        !third.set(saved_register(frame, Arch::third, address)))
        return row;
    row.ra_origin = ra.origin;
    row.fp_origin = fp.origin;
    row.third_origin = third.origin;
    if (row.ra_slot == Row::same && !Arch::return_address_in_register) return row;
    row.kind = RowKind::rule;
    return row;
}

}  // namespace flameprobe
