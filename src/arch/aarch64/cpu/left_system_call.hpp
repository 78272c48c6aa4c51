// What only the code at a sample's pc shows. For the collector, since a handler may not read code (which need not be
// readable) and may make no system call (which a filter may answer by killing).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/registers.hpp"
#include "base/self_memory.hpp"

namespace flameprobe::cpu {

constexpr std::uint32_t svc_0 = 0xd4000001;

/// Whether a thread of this process that may_leave_system_call() did: it stands at the instruction after `svc`, or at
/// `svc` itself if the call is made again.
inline bool left_system_call(const Registers& registers) noexcept {
    std::array<std::uint32_t, 2> code{};  // before the pc, and at it
    const auto bytes = std::as_writable_bytes(std::span(code));
    return read_self(registers.pc() - 4, bytes) >= 4 && (code[0] == svc_0 || code[1] == svc_0);
}

/// Whether the instruction before the pc is a system call that has just returned.
inline bool after_system_call(const Registers& registers) noexcept {
    std::array<std::uint32_t, 1> code{};
    return read_self(registers.pc() - 4, std::as_writable_bytes(std::span(code))) == 4 && code[0] == svc_0;
}

}  // namespace flameprobe::cpu
