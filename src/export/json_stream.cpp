#include "export/json_stream.hpp"

#include <nlohmann/json.hpp>

namespace flameprobe {

namespace {

std::string dump(const nlohmann::json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string json_text(std::string_view value) { return dump(value); }

JsonStream& JsonStream::key(std::string_view name) {
    text(name);
    piece_ += ':';
    needs_comma_ = false;
    return *this;
}

JsonStream& JsonStream::text(std::string_view value) { return raw(dump(value)); }
JsonStream& JsonStream::number(std::uint64_t value) { return raw(std::to_string(value)); }
JsonStream& JsonStream::signed_number(std::int64_t value) { return raw(std::to_string(value)); }
JsonStream& JsonStream::real(double value) { return raw(dump(value)); }

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
