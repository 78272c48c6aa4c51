// A sample whose stack goes on beyond its copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/model.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// An open scope, shown on the leaf's side of its frame.
struct StackLabel {
    std::uint32_t frame;  // from the leaf
    std::uint32_t text;
};

struct DeepSample {
    Sample sample;
    ThreadId shown = 0;               // under which name the profile has it: the thread's when it was sampled
    std::uint64_t time_ns = 0;        // when it was taken, or up to a tick before; CLOCK_MONOTONIC, as the next two
    std::uint64_t came_ns = 0;        // when it was added
    std::uint64_t read_ns = 0;        // when live memory was read for `frames`; 0: they are from the copy alone
    std::vector<CodeFrame> frames{};  // leaf first
    std::size_t proven = 0;           // how many of the frames are from the copy
    std::vector<StackLabel> labels{};
    std::vector<std::uint64_t> kernel_chain{};
    MappingId system_call = 0;  // a note; 0: none
    // While it is pending and its thread has newer samples:
    bool like_next = false;  // shares enough with the next newer one
    std::size_t walked = 0;  // how many frames there were before all but `proven` were dropped
    std::uint64_t read_round = 0;
};

}  // namespace flameprobe
