// Whether a return address can be one: a call instruction must stand before it, and where that names its target, the
// frame below must be in the function it names.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "unwind/cfi_tables.hpp"
#include "unwind/code_map.hpp"

namespace flameprobe {

struct CallSite {
    enum class Kind : std::uint8_t { none, direct, indirect } kind = Kind::none;
    std::uint64_t target = 0;  // of a direct call, and of an indirect one through the global offset table; else 0
};

/// One thread only; not for signal handlers. Reads code through process_vm_readv, so that nothing faults; remembers
/// what it found per address until the map changes.
class CallCheck {
public:
    /// Both must outlive it. The owner of `modules` must make that forget what was unmapped.
    CallCheck(const CodeMap& map, ModuleTable& modules) : map_(map), modules_(modules) {}

    /// The call that ends right before `return_address`.
    CallSite site(std::uint64_t return_address);
    enum class Verdict : std::uint8_t { no, possible, tail_call, certain };
    /// certain: the call's target is known, and is the function in which `callee` (an address to look up) lies.
    /// tail_call: the target is a function that jumps to that one. possible: the target is not known.
    Verdict judge(std::uint64_t return_address, std::uint64_t callee);
    /// Whether a frame that executes at `callee` (an address to look up, as in CodeFrame) can have been called from
    /// there: by a direct call to the same function, to one that jumps to it (a tail call), or by an indirect call.
    /// More than three tail calls in a row make it say no where the truth is yes.
    bool follows_call(std::uint64_t return_address, std::uint64_t callee) {
        return judge(return_address, callee) != Verdict::no;
    }
    /// The start of the function in which an address to look up lies, as far as tables tell functions apart; else the
    /// address itself.
    std::uint64_t function_of(std::uint64_t address);
    std::size_t memory() const {
        return pairs_.size() * sizeof(Remembered) + sites_.size() * 64 + tail_calls_.size() * 80 +
               functions_.size() * 48;
    }

private:
    /// A deep stack repeats a few pairs thousands of times.
    struct Remembered {
        std::uint64_t return_address = 0, callee = 0;
        Verdict verdict = Verdict::no;
    };
    static constexpr std::size_t remembered_pairs = 2048;
    static constexpr int tail_calls_in_a_row = 3;

    Verdict judge_afresh(std::uint64_t return_address, std::uint64_t callee);
    Verdict judge_target(std::uint64_t target, std::uint64_t callee);
    bool tail_calls(std::uint64_t from, std::uint64_t end, std::uint64_t to, int in_a_row);
    void forget_if_stale();

    const CodeMap& map_;
    ModuleTable& modules_;
    std::uint64_t generation_ = 0;
    std::vector<Remembered> pairs_ = std::vector<Remembered>(remembered_pairs);  // direct-mapped
    std::unordered_map<std::uint64_t, CallSite> sites_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, bool> tail_calls_;
    std::unordered_map<std::uint64_t, std::uint64_t> functions_;  // by address
};

}  // namespace flameprobe
