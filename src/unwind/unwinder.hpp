// From registers and stack bytes to frames: a pure function of its arguments, apart from its caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/registers.hpp"
#include "unwind/code_map.hpp"

namespace flameprobe {

class ModuleTable;

/// Why a walk ended. Only `root` proves that the stack is whole.
enum class WalkEnd : std::uint8_t {
    root,  // the return address is undefined by the CFI, or the frame-pointer chain ended in zero at a start function
    truncated,         // the copy ended before the stack did
    no_unwind_info,    // code without CFI, and no other way on
    bad_cfa,           // the CFA did not grow
    bad_return,        // the return address is not code
    too_deep,          // more frames than the limit
    unknown_register,  // of a blocked thread: a callee-saved register was needed whose value could not be proven
};
std::string_view describe(WalkEnd end);

/// One frame, leaf first.
struct CodeFrame {
    /// To look up: the pc of the leaf and of interrupted frames, the return address - 1 of callers.
    std::uint64_t address = 0;
    std::uint64_t cfa = 0;  // canonical frame address: every byte of the frame lies below it
    std::uint32_t region = no_region;
    static constexpr std::uint32_t no_region = ~std::uint32_t{0};

    bool is_like(const CodeFrame& other) const { return address == other.address && cfa == other.cfa; }
};

/// A copy of the stack, from its top (lowest address) up.
struct StackCopy {
    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
};

/// More of the same stack, from live memory: how a walk goes on past the end of the copy. Nothing it gives is certain;
/// the caller proves it afterwards (collect/deep_stacks.hpp).
class StackBeyond {
public:
    virtual ~StackBeyond() = default;
    /// Copies [address, address + out.size()) or less; gives the number of bytes copied from the front. Never faults.
    virtual std::size_t read(std::uint64_t address, std::span<std::byte> out) = 0;
};

struct Walk {
    std::vector<CodeFrame> frames;  // leaf first; keeps its capacity between walks
    WalkEnd end = WalkEnd::root;
    std::size_t frames_in_copy = 0;  // frames found from the copy alone; the others came from StackBeyond
    std::uint64_t beyond_end = 0;    // the highest stack address read through StackBeyond, 0 if none
};

struct UnwindStatistics {
    std::uint64_t rule_hits = 0;
    std::uint64_t rule_misses = 0;
    std::uint64_t irregular_steps = 0;  // where no rule can be encoded
    std::size_t memory = 0;             // bytes, estimated
};

/// One thread only. Must not be called in a signal handler: it allocates and reads files.
class Unwinder {
public:
    virtual ~Unwinder() = default;
    /// Walks from `registers` towards the root, at most `max_frames`. `beyond` may be null.
    virtual void walk(const Registers& registers, StackCopy stack, StackBeyond* beyond, Walk& out) = 0;
    /// The same for a thread of which only pc and sp are known, because it waits in the kernel. A register that a frame
    /// needs is taken from where the stack proves what it is, or the walk ends there.
    virtual void walk_blocked(std::uint64_t pc, std::uint64_t sp, StackCopy stack, StackBeyond* beyond, Walk& out) = 0;
    virtual UnwindStatistics statistics() const = 0;
    /// The tables of the code that was walked; what was unmapped is forgotten before each walk.
    virtual ModuleTable& modules() = 0;
    static constexpr std::size_t max_frames = 1u << 17;
};

/// `map` must outlive the unwinder. Frames come from .eh_frame / .debug_frame (DWARF 5, section 6.4), rules remembered
/// per address; code without CFI is crossed by frame pointer where that is provably sane, else the walk ends.
std::unique_ptr<Unwinder> make_dwarf_unwinder(const CodeMap& map);
/// Frame pointers only.
std::unique_ptr<Unwinder> make_fp_unwinder(const CodeMap& map);

}  // namespace flameprobe
