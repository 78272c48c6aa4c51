// Rules and stack words made by hand, and the walk over them.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "arch/aarch64/walk_facts.hpp"
#include "arch/x86_64/walk_facts.hpp"
#include "unwind/walker.hpp"

namespace flameprobe::testing {

class HandMadeRules {
public:
    std::map<std::uint64_t, UnwindRule> rules;
    std::set<std::uint64_t> calls;       // return addresses that follow a call
    std::set<std::uint64_t> certain;     // ... to the code without CFI of the test
    std::set<std::uint64_t> new_stacks;  // ... that is made on a new stack
    std::set<std::uint64_t> elsewhere;   // ... to a function that is not the one below
    std::set<std::uint64_t> traps;       // behind which the code leads to a trap
    std::set<std::uint64_t> first_calls;
    std::uint64_t in_register = 0;
    std::map<std::uint64_t, UnwindRule> one_frame;   // ... to a function that has this frame throughout
    std::map<std::uint64_t, std::uint64_t> distant;  // ... to one whose frame is that far below its return address

    UnwindRule& add(std::uint64_t lookup, RuleKind kind) {
        UnwindRule rule;
        rule.address = lookup;
        rule.region = 7;
        rule.kind = kind;
        rule.ra_slot = -8;
        return rules[lookup] = rule;
    }
    const UnwindRule* rule(std::uint64_t lookup) {
        const auto found = rules.find(lookup);
        return found != rules.end() ? &found->second : nullptr;
    }
    bool follows_any_call(std::uint64_t address) {
        return calls.contains(address) || certain.contains(address) || elsewhere.contains(address);
    }
    CallCheck::Verdict judge_call(std::uint64_t address, std::uint64_t) {
        return certain.contains(address) ? CallCheck::Verdict::certain
               : calls.contains(address) ? CallCheck::Verdict::possible
                                         : CallCheck::Verdict::no;
    }
    bool calls_on_new_stack(std::uint64_t address) { return new_stacks.contains(address); }
    bool never_returns(std::uint64_t address) { return traps.contains(address); }
    bool is_first_call(std::uint64_t address) { return first_calls.contains(address); }
    bool leaf_register(const Cursor&, unsigned, std::uint64_t& value) { return (value = in_register) != 0; }
    const UnwindRule* frame_of_called(std::uint64_t address, std::uint64_t) {
        const auto found = one_frame.find(address);
        return found != one_frame.end() ? &found->second : nullptr;
    }
    bool leave_called(std::uint64_t address, Cursor& cursor, StackReader& stack) {
        const auto found = distant.find(address);
        return found != distant.end() && stack.word(cursor.sp + found->second, cursor.pc) &&
               (cursor.sp += found->second + 8, true);
    }
    std::optional<WalkEnd> step_irregular(Cursor& cursor, StackReader&) {
        cursor.pc = 0x9001;
        cursor.sp += 0x10;
        cursor.interrupted = false;
        return std::nullopt;
    }
};

constexpr std::uint64_t stack_at = 0x10000;

struct Scene {
    HandMadeRules rules;
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(16);
    Cursor cursor;
    StackBeyond* beyond = nullptr;
    std::size_t most = 100;
    Walk walk;

    Scene() {
        cursor.pc = 0x1000;
        cursor.sp = stack_at;
        rules.add(0x9000, RuleKind::root);
    }
    template <bool frame_pointers = false, class Cpu = ArchX86_64>
    const Walk& go() {
        StackReader reader;
        reader.start({stack_at, std::as_bytes(std::span(words))}, beyond);
        Walker<HandMadeRules, frame_pointers, Cpu>(rules, reader, walk).walk(cursor, most);
        return walk;
    }
};

inline std::vector<std::uint64_t> addresses(const Walk& walk) {
    std::vector<std::uint64_t> out;
    for (const CodeFrame& frame : walk.frames) out.push_back(frame.address);
    return out;
}
using Addresses = std::vector<std::uint64_t>;

}  // namespace flameprobe::testing
