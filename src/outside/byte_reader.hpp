// Reads what base/varint.hpp writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/varint.hpp"

namespace flameprobe {

/// Reads forward through bytes that may be hostile: past the end, or on a varint over 64 bits, `ok()` turns false for
/// good and every further read gives zero.
class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    bool ok() const { return ok_; }
    bool at_end() const { return position_ == bytes_.size(); }
    std::size_t position() const { return position_; }
    std::size_t remaining() const { return bytes_.size() - position_; }

    std::uint8_t byte() {
        if (position_ >= bytes_.size()) return fail();
        return static_cast<std::uint8_t>(bytes_[position_++]);
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint8_t next = byte();
            if (!ok_ || (shift == 63 && next > 1)) return fail();
            value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
            if ((next & 0x80) == 0) return value;
        }
        return fail();
    }
    std::int64_t signed_varint() { return unzigzag(varint()); }
    std::span<const std::byte> take(std::uint64_t size) {
        if (size > remaining()) {
            fail();
            return {};
        }
        const auto taken = bytes_.subspan(position_, size);
        position_ += size;
        return taken;
    }
    /// A varint length and that many bytes.
    std::string string() {
        const auto text = take(varint());
        return {reinterpret_cast<const char*>(text.data()), text.size()};
    }

private:
    std::uint8_t fail() {
        ok_ = false;
        position_ = bytes_.size();
        return 0;
    }

    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
    bool ok_ = true;
};

}  // namespace flameprobe
