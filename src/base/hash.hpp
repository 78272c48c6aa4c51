// Hashes for tables in memory: fast, not for hostile keys beyond what a slow run can cost.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace flameprobe {

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
constexpr std::uint64_t splitmix64(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

/// The next number of the sequence that `state` stands in: that generator itself.
constexpr std::uint64_t next_random(std::uint64_t& state) noexcept { return splitmix64(state += 0x9e3779b97f4a7c15); }

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xe7037ed1a0b428db);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

constexpr std::uint64_t hash_pair(std::uint32_t a, std::uint32_t b) { return mix(std::uint64_t{a} << 32 | b, 1); }

/// Eight bytes at a time; the last eight overlap, so that no byte is read alone.
inline std::uint64_t hash_text(std::string_view text) {
    const auto word = [&](std::size_t at) {
        std::uint64_t value = 0;
        std::memcpy(&value, text.data() + at, sizeof value);
        return value;
    };
    std::uint64_t hash = text.size();
    if (text.size() < 8) {
        std::uint64_t value = 0;
        if (!text.empty()) std::memcpy(&value, text.data(), text.size());
        return mix(hash, value);
    }
    std::size_t at = 0;
    for (; at + 8 < text.size(); at += 8) hash = mix(hash, word(at));
    return mix(hash, word(text.size() - 8));
}

}  // namespace flameprobe
