// JSON written as it is made, for outputs too big to hold.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "outside/byte_stream.hpp"

namespace flameprobe {

/// In quotes; bytes that are no UTF-8 become U+FFFD.
std::string json_text(std::string_view value);
/// A whole document in one line.
std::string json_document(const nlohmann::ordered_json& value);

/// Commas and quoting are its own; that keys and values alternate and brackets match is the caller's. Invalid UTF-8 is
/// replaced. The last piece is written by finish(), as a sink may throw.
class JsonStream {
public:
    explicit JsonStream(const ByteSink& out) : out_(out) {}
    explicit JsonStream(ByteSink&&) = delete;  // it has to outlive this
    JsonStream(const JsonStream&) = delete;
    JsonStream& operator=(const JsonStream&) = delete;

    void finish() { out_(piece_); }

    JsonStream& begin_object() { return open('{'); }
    JsonStream& end_object() { return close('}'); }
    JsonStream& begin_array() { return open('['); }
    JsonStream& end_array() { return close(']'); }
    JsonStream& key(std::string_view name);

    JsonStream& text(std::string_view value);
    JsonStream& number(std::uint64_t value);
    JsonStream& signed_number(std::int64_t value);
    JsonStream& real(double value);
    JsonStream& boolean(bool value) { return raw(value ? "true" : "false"); }
    JsonStream& null() { return raw("null"); }
    /// null where it is not known; where it is 0.
    JsonStream& number_if(std::optional<std::uint64_t> value) { return value ? number(*value) : null(); }
    JsonStream& number_unless_0(std::uint64_t value) { return value != 0 ? number(value) : null(); }

    /// An array with what `write(element)` makes of each element.
    template <class Range, class Write>
    JsonStream& array(const Range& range, const Write& write) {
        begin_array();
        for (const auto& element : range) write(element);
        return end_array();
    }
    /// An array of `count` times the same.
    template <class Write>
    JsonStream& repeat(std::size_t count, const Write& write) {
        begin_array();
        for (std::size_t i = 0; i < count; ++i) write();
        return end_array();
    }

private:
    JsonStream& open(char bracket);
    JsonStream& close(char bracket);
    JsonStream& raw(std::string_view value);

    const ByteSink& out_;
    std::string piece_;
    bool needs_comma_ = false;
};

}  // namespace flameprobe
