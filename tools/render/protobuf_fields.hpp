// Messages of Protocol Buffers, read field by field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_reader.hpp"

namespace flameprobe {

/// Calls visit(number, value, bytes) for each field; false where the message is damaged.
bool each_field(std::span<const std::byte> message, const auto& visit) {
    ByteReader in(message);
    while (in.ok() && !in.at_end()) {
        const std::uint64_t key = in.varint();
        switch (key & 7) {
            case 0:
                if (const std::uint64_t value = in.varint(); in.ok())
                    visit(key >> 3, value, std::span<const std::byte>());
                break;
            case 1:
                in.take(8);
                break;
            case 2:
                if (const std::span<const std::byte> bytes = in.take(in.varint()); in.ok())
                    visit(key >> 3, std::uint64_t{0}, bytes);
                break;
            case 5:
                in.take(4);
                break;
            default:
                return false;
        }
    }
    return in.ok();
}

}  // namespace flameprobe
