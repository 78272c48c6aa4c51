// Reads bytes that may be hostile: little-endian fields, as of ELF and DWARF, and what base/varint.hpp writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/varint.hpp"

namespace flameprobe {

/// Reads forward: past the end, or on a varint over 64 bits, `ok()` turns false for good and every further read gives
/// zero.
class ByteReader {
public:
    ByteReader() = default;
    explicit ByteReader(std::span<const std::byte> bytes, std::uint64_t position = 0)
        : begin_(bytes.data()), next_(begin_), end_(begin_ + bytes.size()) {
        skip(position);
    }

    bool ok() const { return ok_; }
    bool at_end() const { return next_ == end_; }
    std::size_t position() const { return static_cast<std::size_t>(next_ - begin_); }
    std::size_t remaining() const { return static_cast<std::size_t>(end_ - next_); }
    void skip(std::uint64_t size) { take(size); }
    void seek(std::uint64_t position) {
        next_ = begin_;
        skip(position);
    }
    std::span<const std::byte> take(std::uint64_t size) {
        if (size > remaining()) {
            fail();
            return {};
        }
        next_ += size;
        return {next_ - size, next_};
    }

    template <class T>
    T fixed() {
        T value{};
        const auto bytes = take(sizeof value);
        if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    std::uint8_t u8() { return fixed<std::uint8_t>(); }
    std::uint32_t u32() { return fixed<std::uint32_t>(); }
    std::uint64_t u64() { return fixed<std::uint64_t>(); }
    /// Up to a zero byte, which is consumed; a text without one fails.
    std::string_view text() {
        const void* const zero = at_end() ? nullptr : std::memchr(next_, 0, remaining());
        if (zero == nullptr) {
            fail();
            return {};
        }
        const auto text = take(static_cast<std::size_t>(static_cast<const std::byte*>(zero) - next_) + 1);
        return {reinterpret_cast<const char*>(text.data()), text.size() - 1};
    }

    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint8_t next = u8();
            if (!ok_ || (shift == 63 && next > 1)) break;
            value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
            if ((next & 0x80) == 0) return value;
        }
        fail();
        return 0;
    }
    std::int64_t signed_varint() { return unzigzag(varint()); }
    /// Signed LEB128 (DWARF 5, section 7.6), of 64 bits at most.
    std::int64_t sleb128() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint8_t next = u8();
            if (!ok_ || (shift == 63 && next != 0 && next != 0x7f)) break;
            value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
            if ((next & 0x80) != 0) continue;
            if ((next & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
            return static_cast<std::int64_t>(value);
        }
        fail();
        return 0;
    }
    /// A varint length and that many bytes.
    std::string string() {
        const auto text = take(varint());
        return {reinterpret_cast<const char*>(text.data()), text.size()};
    }

private:
    void fail() {
        ok_ = false;
        next_ = end_;
    }

    const std::byte* begin_ = nullptr;
    const std::byte* next_ = nullptr;
    const std::byte* end_ = nullptr;
    bool ok_ = true;
};

}  // namespace flameprobe
