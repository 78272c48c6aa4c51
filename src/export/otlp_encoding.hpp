// How an OTLP message is written: as protobuf, or as protobuf's JSON
// (opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Both encodings have the same members.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/binary_text.hpp"
#include "export/json_stream.hpp"
#include "export/protobuf.hpp"

namespace flameprobe {

/// A member of a message: its number in protobuf, its name in JSON.
struct Field {
    unsigned number;
    std::string_view name;
};

using Numbers = std::vector<std::uint64_t>;

class ProtoEncoding {
public:
    void integer(Field field, std::uint64_t value) { message_.number(field.number, value); }
    void large(Field field, std::uint64_t value) { message_.number(field.number, value); }
    /// Written also when 0: for a oneof, where the member's presence selects it.
    void chosen(Field field, std::uint64_t value) { message_.chosen_number(field.number, value); }
    void fixed(Field field, std::uint64_t value) { message_.fixed64(field.number, value); }
    void text(Field field, std::string_view value) { message_.text(field.number, value); }
    void identifier(Field field, std::string_view bytes) { message_.text(field.number, bytes); }
    void message(Field field, const ProtoEncoding& value) { message_.message(field.number, value.message_); }
    void messages(Field field, const std::vector<ProtoEncoding>& values) {
        for (const ProtoEncoding& value : values) message(field, value);
    }
    void texts(Field field, const std::vector<const std::string*>& values) {
        for (const std::string* value : values) text(field, *value);
    }
    void integers(Field field, const Numbers& values) {
        if (!values.empty()) message_.packed(field.number, values);
    }
    void larges(Field field, const Numbers& values) { integers(field, values); }
    const std::string& bytes() const { return message_.bytes(); }

private:
    ProtoMessage message_;
};

/// 64-bit numbers are strings in protobuf's JSON, and OTLP's identifiers hexadecimal.
class JsonEncoding {
public:
    void integer(Field field, std::uint64_t value) {
        if (value != 0) member(field, std::to_string(value));
    }
    void large(Field field, std::uint64_t value) {
        if (value != 0) member(field, json_text(std::to_string(value)));
    }
    void chosen(Field field, std::uint64_t value) { member(field, json_text(std::to_string(value))); }
    void fixed(Field field, std::uint64_t value) { large(field, value); }
    void text(Field field, std::string_view value) { member(field, json_text(value)); }
    void identifier(Field field, std::string_view bytes) { text(field, hex_text(bytes)); }
    void message(Field field, const JsonEncoding& value) { member(field, value.bytes()); }
    void messages(Field field, const std::vector<JsonEncoding>& values) {
        array(field, values, [](const JsonEncoding& value) { return value.bytes(); });
    }
    void texts(Field field, const std::vector<const std::string*>& values) {
        array(field, values, [](const std::string* value) { return json_text(*value); });
    }
    void integers(Field field, const Numbers& values) {
        if (!values.empty()) array(field, values, [](std::uint64_t value) { return std::to_string(value); });
    }
    void larges(Field field, const Numbers& values) {
        array(field, values, [](std::uint64_t value) { return json_text(std::to_string(value)); });
    }
    std::string bytes() const { return '{' + members_ + '}'; }

private:
    void member(Field field, std::string_view value) {
        members_ += (members_.empty() ? "\"" : ",\"");
        (members_ += field.name) += "\":";
        members_ += value;
    }
    template <class Value, class Text>
    void array(Field field, const std::vector<Value>& values, const Text& text_of) {
        std::string elements = "[";
        for (const Value& value : values) {
            if (elements.size() > 1) elements += ',';
            elements += text_of(value);
        }
        member(field, elements += ']');
    }

    std::string members_;
};

}  // namespace flameprobe
