// One address's unwind rule, small enough that a stack of thirty frames costs a dozen cache lines.
#pragma once

#include <cstdint>

#include "unwind/unwinder.hpp"

namespace flameprobe {

enum class RuleBase : std::uint8_t { sp, fp, third };

/// What a slot's offset counts from. All but the CFA are registers as they are in the frame itself.
enum class SlotOrigin : std::uint8_t { cfa, sp, fp, third };

enum class RuleKind : std::uint8_t {
    empty,      // a free place in the cache
    step,       // the fields below say how to go on
    root,       // the CFI calls the return address undefined: a thread's or the program's first function
    irregular,  // there is CFI that no rule can express: IrregularStepper steps
    no_cfi,     // code without CFI
};

/// How much of its frame record the interrupted function has made; only known for code without CFI, and only meaningful
/// where execution stands exactly at the address (not for callers).
enum class RecordState : std::uint8_t {
    made,    // nothing seen: assume the frame pointer is set up
    before,  // before the first instruction that makes it, or at the return: the caller's frame pointer is in place
    half,    // pushed, but the frame pointer does not point at it yet
};

/// Whether the address after this one is where a stack's first function returns to: put there by hand when the stack
/// was made, for a coroutine or a goroutine. No call leads there, and no caller is above.
enum class StackStart : std::uint8_t {
    no,
    by_tables,  // a function begins there, or a trap stands there: believed of a return address that is certain
    untabled,   // code of a file without tables, behind no call: believed as by_tables
    by_bytes,   // code that is known to be one
};

/// The step of every kind but root and irregular; [x] is the word at x:
///     cfa = base + cfa_offset                       or, where cfa_is_loaded, [base + cfa_offset]
///     sp' = cfa
///     pc' = [ra_origin + ra_slot]
///     fp' = [fp_origin + fp_slot], third' = [third_origin + third_slot]
/// A register whose slot is `same` keeps its value; on aarch64 pc' is then the link register, which is `third`.
struct UnwindRule {
    static constexpr std::int32_t same = INT32_MIN;      // a slot's offset: the caller's value is still in the register
    static constexpr std::int32_t lost = INT32_MIN + 1;  // ... the caller's value is not known
    static constexpr std::uint8_t none = 31;

    std::uint64_t address = 0;
    std::uint32_t region = CodeFrame::no_region;
    std::int32_t cfa_offset = 0;
    std::int32_t ra_slot = 0;
    std::int32_t fp_slot = same;
    std::int32_t third_slot = same;
    RuleKind kind : 3 = RuleKind::empty;
    RuleBase base : 2 = RuleBase::sp;
    RecordState record : 2 = RecordState::made;
    SlotOrigin ra_origin : 2 = SlotOrigin::cfa;
    SlotOrigin fp_origin : 2 = SlotOrigin::cfa;
    SlotOrigin third_origin : 2 = SlotOrigin::cfa;
    bool cfa_is_loaded : 1 = false;
    bool signal_frame : 1 = false;
    StackStart starts_stack : 2 = StackStart::no;
    // Only for code without CFI, or where records were asked for (RuleSource):
    bool after_syscall : 1 = false;
    bool keeps_records : 1 = false;  // frame records are set up in the code before it
    bool in_file : 1 = false;        // not made at run time
    /// The fields above are from the epilogue or the frame of one size that the code is in (epilogue_rule,
    /// fixed_frame_rule); false: cfa_offset is what frame_before_record() gives.
    bool from_code : 1 = false;
    std::uint8_t ra_register : 5 = none;  // the leaf's register (DWARF's number) that has pc', instead of a slot

    /// How code's bytes, rather than tables, describe a frame: its end is `size` bytes above SP.
    ///     (pc', sp', fp', third') = ([sp + size + ra], sp + size, [sp + size + fp], [sp + size + third])
    void set_frame_above_sp(std::int32_t size, std::int32_t ra, std::int32_t fp = same, std::int32_t third = same) {
        base = RuleBase::sp;
        cfa_offset = size;
        ra_slot = ra;
        fp_slot = fp;
        third_slot = third;
    }
};
static_assert(sizeof(UnwindRule) == 32, "two rules a cache line");

}  // namespace flameprobe
