#include "collect/live_stack.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/self_memory.hpp"

namespace flameprobe {

std::size_t LiveStack::read(std::uint64_t address, std::span<std::byte> out) {
    const std::size_t wanted = std::min<std::uint64_t>(out.size(), budget_);
    const std::size_t got = read_self(address, out.first(wanted));
    budget_ -= got;
    read_any_ = read_any_ || got != 0;
    return got;
}

bool LiveStack::copy_still_true() const {
    std::array<std::byte, 256> now;
    const std::size_t size = std::min(now.size(), copy_.bytes.size());
    const std::size_t at = copy_.bytes.size() - size;
    return read_self(copy_.address + at, std::span(now).first(size)) == size &&
           std::memcmp(now.data(), copy_.bytes.data() + at, size) == 0;
}

}  // namespace flameprobe
