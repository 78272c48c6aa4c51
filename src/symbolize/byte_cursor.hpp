// Reads little-endian fields of ELF and DWARF, which may be hostile: past the end every read gives zero and `ok()`
// turns false for good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "symbolize/file_bytes.hpp"

namespace flameprobe {

class ByteCursor {
public:
    ByteCursor() = default;
    explicit ByteCursor(Bytes bytes, std::uint64_t offset = 0)
        : begin_(bytes.data()), next_(begin_), end_(begin_ + bytes.size()) {
        skip(offset);
    }

    bool ok() const { return ok_; }
    bool at_end() const { return next_ == end_; }
    std::uint64_t offset() const { return static_cast<std::uint64_t>(next_ - begin_); }
    std::uint64_t remaining() const { return static_cast<std::uint64_t>(end_ - next_); }
    void skip(std::uint64_t size) {
        if (size > remaining())
            fail();
        else
            next_ += size;
    }
    void seek(std::uint64_t offset) {
        next_ = begin_;
        skip(offset);
    }

    std::uint8_t u8() { return fixed<std::uint8_t>(); }
    std::uint32_t u32() { return fixed<std::uint32_t>(); }
    std::uint64_t u64() { return fixed<std::uint64_t>(); }
    /// Up to a zero byte, which is consumed; a string without one fails.
    std::string_view text() {
        const void* zero = at_end() ? nullptr : std::memchr(next_, 0, remaining());
        if (zero == nullptr) {
            fail();
            return {};
        }
        const char* start = reinterpret_cast<const char*>(next_);
        const auto size = static_cast<std::size_t>(static_cast<const char*>(zero) - start);
        next_ += size + 1;
        return {start, size};
    }

private:
    template <class T>
    T fixed() {
        T value{};
        if (sizeof value > remaining()) {
            fail();
        } else {
            std::memcpy(&value, next_, sizeof value);
            next_ += sizeof value;
        }
        return value;
    }
    void fail() {
        ok_ = false;
        next_ = end_;
    }

    const std::byte* begin_ = nullptr;
    const std::byte* next_ = nullptr;
    const std::byte* end_ = nullptr;
    bool ok_ = true;
};

/// The zero-terminated string at `offset`, empty if there is none.
inline std::string_view text_at(Bytes bytes, std::uint64_t offset) { return ByteCursor(bytes, offset).text(); }

}  // namespace flameprobe
