// Errors as values: nothing in FlameProbe throws across a stage, because most of it runs inside the
// program that it profiles.
#pragma once

#include <string.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace flameprobe {

/// What an errno says. Thread-safe, unlike strerror.
inline std::string error_text(int error) {
    const char* const text = ::strerrordesc_np(error);  // null for numbers that libc does not know
    return text != nullptr ? text : "error " + std::to_string(error);
}

/// What went wrong, where, and what to do about it: one line, for a person.
struct Error {
    std::string message;
};

/// A value or an Error.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const noexcept { return state_.index() == 0; }
    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    const Error& error() const { return std::get<1>(state_); }

private:
    std::variant<T, Error> state_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const noexcept { return !error_; }
    const Error& error() const { return *error_; }

private:
    std::optional<Error> error_;
};

}  // namespace flameprobe
