// How futures are called in pictures, and what they wait for, in words.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace flameprobe::async {

inline bool starts_with_any(std::string_view text, const auto& beginnings) {
    return std::ranges::any_of(beginnings, [&](std::string_view one) { return text.starts_with(one); });
}

/// `server::handle` of `server::handle::{async_fn_env#0}<T>`; an async block is `server::main::{async block}`. Without
/// {closure#0} and {impl#3}, also in parameters.
std::string shown_name(std::string_view type);
/// The same of a method: `TcpStream::connect`, where `self_type` is what it is of.
std::string method_name(std::string_view type, std::string_view self_type);
/// Whether it is the state of an `impl`'s function.
bool is_method(std::string_view type);

/// What a future of a library waits for, by its name in debug information: "timer", "Mutex", "socket read"; empty: not
/// known.
std::string_view what_it_waits_for(std::string_view type);
/// Whether it only hands on to others: not shown.
bool is_future_glue(std::string_view type);
/// Whether it is of tokio or of smol's crates, whose inner futures are not shown.
bool is_of_runtime(std::string_view type);
/// Whether it is what smol's executor puts around each task's future.
inline bool is_of_executor(std::string_view type) { return type.starts_with("async_executor::"); }

/// The part after the last "::".
inline std::string_view last_word(std::string_view path) {
    const std::size_t at = path.rfind("::");
    return at == path.npos ? path : path.substr(at + 2);
}

}  // namespace flameprobe::async
