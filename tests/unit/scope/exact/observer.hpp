// Looks at a stopped thread of a traced child the way the collector looks at a sample: registers and 16 KiB of stack
// in, open scopes out; and compares these with what the child itself noted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../../unwind/live_map.hpp"
#include "scope/scanner.hpp"
#include "truth.hpp"
#include "unwind/unwinder.hpp"

namespace exact {

/// Numbers of looks (the first two) and of scopes.
struct Counts {
    std::uint64_t looks = 0;
    std::uint64_t unsure = 0;   // looks at a moment of which the child does not say what is open
    std::uint64_t open = 0;     // noted as certainly open
    std::uint64_t found = 0;    // and noted
    std::uint64_t wrong = 0;    // found, and not noted
    std::uint64_t missing = 0;  // certainly open, in the copy and in reach of the walk, and not found
    std::uint64_t beyond = 0;   // certainly open, out of reach, and not found: nothing in the copy named it
};

/// The child's memory, whole.
class ChildMemory final : public flameprobe::StackBeyond {
public:
    explicit ChildMemory(pid_t child) : child_(child) {}
    std::size_t read(std::uint64_t address, std::span<std::byte> out) override;
    bool read_all(std::uint64_t address, void* out, std::size_t size);

private:
    pid_t child_;
};

class Observer {
public:
    /// `child` is a fork of this process, so that what is mapped here is mapped there.
    explicit Observer(pid_t child);
    void look(pid_t tid);
    const Counts& counts() const { return counts_; }

private:
    bool truth_of(pid_t tid);
    void compare(std::uint64_t sp, std::uint64_t copy_end);
    void report(const char* what, std::uint64_t sp) const;

    ChildMemory memory_;
    flameprobe::CodeMap map_;
    std::unique_ptr<flameprobe::Unwinder> unwinder_;
    flameprobe::ScopeScanner scanner_;
    flameprobe::Walk walk_;
    std::vector<flameprobe::PlacedScope> placed_;
    Truth truth_;
    Counts counts_;
};

}  // namespace exact
