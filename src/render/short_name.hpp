// Short names of functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The name without template arguments, parameters, return type, `[abi:...]` and Rust's hash:
/// `std::__cxx11::basic_string<char, ...>::append(char const*)` is `std::string::append`, `<alloc::vec::Vec<T> as
/// core::ops::drop::Drop>::drop` is `alloc::vec::Vec::drop`. A name whose brackets do not match comes back as it is.
std::string short_name(std::string_view name);

/// The same for a function of a profile; kernel, scopes, notes and threads keep their names.
std::string short_name(const NamedProfile& profile, FunctionId function);

/// Clean text in `room` columns: whole, else without as many leading `a::b::` as it takes ("…Server::answer"), else the
/// last component cut ("answ…"); of `[libfoo.so+0x1a2b]` the address stays ("[lib…+0x1a2b]"). Empty if fewer than three
/// columns of it would be left.
std::string fit_name(std::string_view clean, std::size_t room);

/// Gives every function of the profile its short name.
void shorten_names(NamedProfile& profile);

}  // namespace flameprobe
