// The host's memory as the part of a stack that did not fit into its copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/unwinder.hpp"

namespace flameprobe {

/// Read while the host runs: nothing here is certain by itself. Popped stack keeps its old bytes.
class LiveStack final : public StackBeyond {
public:
    /// To be called before each walk, with the sample's copy: its bytes must stay valid until the walk is done.
    void begin(StackCopy copy) {
        copy_ = copy;
        read_any_ = false;
    }
    std::size_t read(std::uint64_t address, std::span<std::byte> out) override;

    bool read_any() const { return read_any_; }
    /// Whether the end of the copy is still what live memory holds there: call after the walk.
    bool copy_still_true() const;
    /// Whether the copy may have ended early: the kernel copies no page that was never touched.
    bool lacks_pages() const { return (copy_.address + copy_.bytes.size()) % page == 0; }
    /// To be called at each drain: what live reads may cost starts again.
    void new_round() { budget_ = budget_bytes; }

private:
    // A stack of 4 MiB costs half a millisecond to copy: without a limit, deep hosts would be read all the time.
    static constexpr std::uint64_t budget_bytes = 64 << 20;
    static constexpr std::uint64_t page = 4096;  // the smallest there is

    StackCopy copy_;
    bool read_any_ = false;
    std::uint64_t budget_ = budget_bytes;
};

}  // namespace flameprobe
