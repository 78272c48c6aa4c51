#include "unwind/inflate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

namespace flameprobe {
namespace {

/// Bits, least significant first; zeros beyond the end, and `ok()` turns false.
class Bits {
public:
    explicit Bits(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::uint32_t peek(unsigned count) {
        while (count_ < count) {
            if (at_ < bytes_.size()) held_ |= std::to_integer<std::uint64_t>(bytes_[at_]) << count_;
            ++at_;
            count_ += 8;
        }
        return static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << count) - 1));
    }
    void drop(unsigned count) {
        held_ >>= count;
        count_ -= count;
    }
    std::uint32_t take(unsigned count) {
        const std::uint32_t bits = peek(count);
        drop(count);
        return bits;
    }
    bool ok() const { return at_ - count_ / 8 <= bytes_.size(); }
    /// The next bytes, from a whole one on; nothing if there are fewer.
    std::span<const std::byte> take_bytes(std::size_t size) {
        at_ -= count_ / 8;
        held_ = count_ = 0;
        if (at_ > bytes_.size() || size > bytes_.size() - at_) return {};
        at_ += size;
        return bytes_.subspan(at_ - size, size);
    }

private:
    std::span<const std::byte> bytes_;
    std::uint64_t held_ = 0;
    std::size_t at_ = 0;
    unsigned count_ = 0;  // of bits held
};

/// A Huffman code (RFC 1951, section 3.2.2), as a table by the next 15 bits.
class Code {
public:
    static constexpr unsigned longest = 15;

    /// Lengths of the symbols' codes, 0 for those without. False: more codes than there can be.
    bool set(std::span<const std::uint8_t> lengths) {
        std::array<std::uint32_t, longest + 1> next{};
        std::array<std::uint32_t, longest + 1> count{};
        for (const std::uint8_t length : lengths) ++count[length];
        count[0] = 0;
        for (unsigned length = 1; length <= longest; ++length)
            next[length] = (next[length - 1] + count[length - 1]) << 1;
        if (next[longest] + count[longest] > 1U << longest) return false;
        entries_.fill(0);
        for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
            if (const unsigned length = lengths[symbol]; length != 0)
                add(next[length]++, length, static_cast<std::uint16_t>(symbol));
        return true;
    }
    /// The next symbol; -1 if no code begins so.
    int decode(Bits& in) const {
        const std::uint16_t entry = entries_[in.peek(longest)];
        const unsigned length = entry & 0xf;
        in.drop(length);
        return length == 0 ? -1 : entry >> 4;
    }

private:
    void add(std::uint32_t code, unsigned length, std::uint16_t symbol) {
        std::uint32_t reversed = 0;
        for (unsigned bit = 0; bit < length; ++bit) reversed |= (code >> bit & 1) << (length - 1 - bit);
        const auto entry = static_cast<std::uint16_t>(symbol << 4 | length);
        for (; reversed < entries_.size(); reversed += 1U << length) entries_[reversed] = entry;
    }

    std::array<std::uint16_t, 1U << longest> entries_;
};

class Inflation {
public:
    Inflation(std::span<const std::byte> in, std::span<std::byte> out) : in_(in), out_(out) {}

    bool run() {
        for (bool last = false; !last;) {
            last = in_.take(1) != 0;
            const std::uint32_t kind = in_.take(2);
            const bool done = kind == 0   ? stored()
                              : kind == 1 ? fixed_codes() && codes()
                              : kind == 2 ? dynamic_codes() && codes()
                                          : false;
            if (!done || !in_.ok()) return false;
        }
        return size_ == out_.size();
    }

private:
    static constexpr std::size_t most_literals = 288, most_distances = 32;

    bool stored() {
        const auto sizes = in_.take_bytes(4);
        std::uint16_t size[2];
        if (sizes.empty()) return false;
        std::memcpy(size, sizes.data(), sizeof size);
        if ((size[0] ^ size[1]) != 0xffff || size[0] > out_.size() - size_) return false;
        const auto bytes = in_.take_bytes(size[0]);
        if (bytes.size() != size[0]) return false;
        std::copy(bytes.begin(), bytes.end(), out_.begin() + static_cast<std::ptrdiff_t>(size_));
        size_ += size[0];
        return true;
    }

    bool fixed_codes() {
        std::array<std::uint8_t, most_literals> lengths;
        for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
        std::array<std::uint8_t, most_distances> distances;
        distances.fill(5);
        return literals_.set(lengths) && distances_.set(distances);
    }

    bool dynamic_codes() {
        constexpr std::array<std::uint8_t, 19> order = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                        11, 4,  12, 3, 13, 2, 14, 1, 15};
        const std::size_t literals = in_.take(5) + 257, distances = in_.take(5) + 1, given = in_.take(4) + 4;
        std::array<std::uint8_t, order.size()> of_lengths{};
        for (std::size_t i = 0; i < given; ++i) of_lengths[order[i]] = static_cast<std::uint8_t>(in_.take(3));
        if (literals > most_literals || !literals_.set(of_lengths)) return false;
        std::array<std::uint8_t, most_literals + most_distances> lengths{};
        for (std::size_t at = 0; at < literals + distances;) {
            const int symbol = literals_.decode(in_);
            if (symbol < 0 || (symbol == 16 && at == 0)) return false;
            if (symbol < 16) {
                lengths[at++] = static_cast<std::uint8_t>(symbol);
                continue;
            }
            const std::uint8_t repeated = symbol == 16 ? lengths[at - 1] : 0;
            const std::size_t times = symbol == 16   ? 3 + in_.take(2)
                                      : symbol == 17 ? 3 + in_.take(3)
                                                     : 11 + in_.take(7);
            if (times > literals + distances - at) return false;
            std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(at), times, repeated);
            at += times;
        }
        const std::span all(lengths);
        return literals_.set(all.first(literals)) && distances_.set(all.subspan(literals, distances));
    }

    bool codes() {
        constexpr int end_of_block = 256;
        while (in_.ok()) {
            const int symbol = literals_.decode(in_);
            if (symbol == end_of_block) return true;
            if (symbol < 0 || size_ == out_.size()) return false;
            if (symbol < end_of_block) {
                out_[size_++] = static_cast<std::byte>(symbol);
            } else if (!copy(static_cast<unsigned>(symbol) - 257)) {
                return false;
            }
        }
        return false;
    }

    /// What was there before, again (RFC 1951, section 3.2.5).
    bool copy(unsigned length_symbol) {
        if (length_symbol > 28) return false;
        std::size_t length = length_symbol + 3;
        if (length_symbol == 28) {
            length = 258;
        } else if (length_symbol >= 8) {
            const unsigned extra = length_symbol / 4 - 1;
            length = 3 + ((4 + length_symbol % 4) << extra) + in_.take(extra);
        }
        const int symbol = distances_.decode(in_);
        if (symbol < 0 || symbol > 29) return false;
        auto distance = static_cast<std::size_t>(symbol) + 1;
        if (symbol >= 4) {
            const unsigned extra = static_cast<unsigned>(symbol) / 2 - 1;
            distance = 1 + ((std::size_t{2} + static_cast<unsigned>(symbol) % 2) << extra) + in_.take(extra);
        }
        if (distance > size_ || length > out_.size() - size_) return false;
        for (; length != 0; --length, ++size_) out_[size_] = out_[size_ - distance];
        return true;
    }

    Bits in_;
    std::span<std::byte> out_;
    std::size_t size_ = 0;  // bytes made so far
    Code literals_, distances_;
};

}  // namespace

bool inflate(std::span<const std::byte> zlib, std::span<std::byte> out) {
    constexpr unsigned deflated = 8, needs_dictionary = 0x20;
    if (zlib.size() < 2) return false;
    const auto method = std::to_integer<unsigned>(zlib[0]), flags = std::to_integer<unsigned>(zlib[1]);
    if ((method & 0xf) != deflated || (method << 8 | flags) % 31 != 0 || (flags & needs_dictionary) != 0) return false;
    return std::make_unique<Inflation>(zlib.subspan(2), out)->run();  // its tables have 128 KiB
}

}  // namespace flameprobe
