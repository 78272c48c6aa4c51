#include "export/json_stream.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/printed.hpp"

namespace flameprobe {

namespace {

/// JSON itself asks for escapes of C0 only: of what else a terminal obeys, which may get it, there are escapes too.
template <class Json>
std::string dump(const Json& value) {
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.find_first_of("\x7f\xc2\xe2") == text.npos) return text;
    std::string shown;
    for (std::string_view rest = text; !rest.empty();) {
        const CodePoint point = first_code_point(rest);
        if (is_shown(point.value) || point.value > 0xffff) {
            shown += rest.substr(0, point.size);
        } else {
            char escape[sizeof "\\uffffffff"];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(point.value));
            shown += escape;
        }
        rest.remove_prefix(point.size);
    }
    return shown;
}

}  // namespace

std::string json_text(std::string_view value) { return dump(nlohmann::json(value)); }

std::string json_document(const nlohmann::ordered_json& value) { return dump(value); }

JsonStream& JsonStream::key(std::string_view name) {
    text(name);
    piece_ += ':';
    needs_comma_ = false;
    return *this;
}

JsonStream& JsonStream::text(std::string_view value) { return raw(json_text(value)); }
JsonStream& JsonStream::number(std::uint64_t value) { return raw(std::to_string(value)); }
JsonStream& JsonStream::signed_number(std::int64_t value) { return raw(std::to_string(value)); }
JsonStream& JsonStream::real(double value) { return raw(dump(nlohmann::json(value))); }

JsonStream& JsonStream::open(char bracket) {
    raw(std::string_view(&bracket, 1));
    needs_comma_ = false;
    return *this;
}

JsonStream& JsonStream::close(char bracket) {
    needs_comma_ = false;
    return raw(std::string_view(&bracket, 1));
}

JsonStream& JsonStream::raw(std::string_view value) {
    if (needs_comma_) piece_ += ',';
    piece_ += value;
    needs_comma_ = true;
    if (piece_.size() >= piece_size) {
        out_(piece_);
        piece_.clear();
    }
    return *this;
}

}  // namespace flameprobe
