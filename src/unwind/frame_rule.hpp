// libdw's answer for one address, made into a rule.
#pragma once

#include <cstdint>

#include "unwind/unwind_rule.hpp"

struct Dwarf_Frame_s;

namespace flameprobe {

/// `address` is the absolute address the frame was asked for: expressions that use the pc (PLT stubs) are worked out
/// with it. The rule is `irregular` where the rule needs more than a rule can say.
UnwindRule rule_of_frame(Dwarf_Frame_s& frame, std::uint64_t address);

}  // namespace flameprobe
