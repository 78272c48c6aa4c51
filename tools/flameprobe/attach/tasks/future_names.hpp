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
/// Whether it is of tokio, whose inner futures are not shown.
bool is_of_tokio(std::string_view type);

}  // namespace flameprobe::async
