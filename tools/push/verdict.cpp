#include "push/verdict.hpp"

#include <array>

#include "outside/byte_reader.hpp"

namespace flameprobe::push {

namespace {

bool has_any(std::string_view text, const auto& words) {
    for (const std::string_view word : words)
        if (text.find(word) != text.npos) return true;
    return false;
}

/// Whether the text has a gRPC code of a temporary failure, as connect and grpc-gateway write it.
bool is_passing(std::string_view text) {
    constexpr std::array<std::string_view, 7> words = {"unavailable", "Unavailable",       "aborted",  "Aborted",
                                                       "canceled",    "deadline_exceeded", "not ready"};
    return has_any(text, words);
}

bool is_known_already(std::string_view text) {
    constexpr std::array<std::string_view, 4> words = {"already_exists", "AlreadyExists", "already exists",
                                                       "duplicate"};
    return has_any(text, words);
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Calls `field` with each field's key, and with its value or its bytes. Stops where the message is not whole.
void each_field(std::string_view message, const auto& field) {
    ByteReader in(bytes_of(message));
    while (!in.at_end()) {
        const std::uint64_t key = in.varint();
        constexpr std::uint64_t wire_types = 7, number = 0, text = 2;
        if ((key & wire_types) == number) {
            const std::uint64_t value = in.varint();
            if (in.ok()) field(key >> 3, value, std::string());
        } else if ((key & wire_types) == text) {
            const std::string value = in.string();
            if (in.ok()) field(key >> 3, std::uint64_t{0}, value);
        } else {
            return;
        }
        if (!in.ok()) return;
    }
}

}  // namespace

std::string rejection_in(std::string_view response) {
    std::uint64_t rejected = 0;
    std::string why;
    each_field(response, [&](std::uint64_t number, std::uint64_t, const std::string& partial_success) {
        if (number != 1) return;
        each_field(partial_success, [&](std::uint64_t inner, std::uint64_t value, const std::string& text) {
            if (inner == 1) rejected = value;
            if (inner == 2) why = text;
        });
    });
    return rejected == 0 ? "" : std::to_string(rejected) + " profiles rejected: " + why;
}

Verdict verdict_of(const Answer& answer, Protocol protocol) {
    const long status = answer.status;
    if (status >= 200 && status < 300) {
        const bool page = protocol != Protocol::pprof_http && answer.text.starts_with('<');
        if (page) return Verdict::refused;
        const bool rejected = protocol == Protocol::otlp && !rejection_in(answer.text).empty();
        return rejected ? Verdict::refused : Verdict::accepted;
    }
    if (status == 413) return Verdict::too_large;
    if (status == 409 && is_known_already(answer.text)) return Verdict::accepted;
    if ((status == 409 || status == 422) && is_passing(answer.text)) return Verdict::later;
    const bool passing = status == 408 || status == 425 || status == 429 || status == 499 || status >= 500;
    return status == 0 || passing ? Verdict::later : Verdict::refused;
}

}  // namespace flameprobe::push
