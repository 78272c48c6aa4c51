// The part of protobuf's wire format that pprof and OTLP need (protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/varint.hpp"

namespace flameprobe {

/// Builds a message. Zero is proto3's default and is not written.
class ProtoMessage {
public:
    void number(unsigned field, std::uint64_t value) {
        if (value == 0) return;
        put_varint(bytes_, field << 3 | varint_type);
        put_varint(bytes_, value);
    }
    /// Writes zero too: for a oneof, where the member's presence selects it.
    void chosen_number(unsigned field, std::uint64_t value) {
        put_varint(bytes_, field << 3 | varint_type);
        put_varint(bytes_, value);
    }
    void fixed64(unsigned field, std::uint64_t value) {
        if (value == 0) return;
        put_varint(bytes_, field << 3 | fixed64_type);
        for (unsigned byte = 0; byte < 8; ++byte) bytes_ += static_cast<char>(value >> (8 * byte));
    }
    /// Writes empty texts too, which are elements of a repeated field.
    void text(unsigned field, std::string_view value) {
        put_varint(bytes_, field << 3 | length_type);
        put_string(bytes_, value);
    }
    void message(unsigned field, const ProtoMessage& value) { text(field, value.bytes_); }
    /// A repeated number, zeros included.
    void packed(unsigned field, std::span<const std::uint64_t> values) {
        std::string packed;
        for (const std::uint64_t value : values) put_varint(packed, value);
        text(field, packed);
    }

    const std::string& bytes() const { return bytes_; }
    void clear() { bytes_.clear(); }

private:
    static constexpr unsigned varint_type = 0;
    static constexpr unsigned fixed64_type = 1;
    static constexpr unsigned length_type = 2;

    std::string bytes_;
};

/// The string table of pprof, OTLP and the Firefox Profiler. Each distinct text has a number, in the order of first
/// appearance. 0 is "", so that 0 can mean none.
class NumberedStrings {
public:
    std::uint64_t id(const std::string& text) {
        const auto [entry, is_new] = ids_.try_emplace(text, texts_.size());
        if (is_new) texts_.push_back(&entry->first);
        return entry->second;
    }
    const std::vector<const std::string*>& texts() const { return texts_; }

private:
    std::unordered_map<std::string, std::uint64_t> ids_{{"", 0}};
    std::vector<const std::string*> texts_{&ids_.begin()->first};
};

}  // namespace flameprobe
