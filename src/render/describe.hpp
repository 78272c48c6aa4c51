// The words for a function and its box, the same in the picture, its tooltips and the page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "render/call_tree.hpp"
#include "render/flame_graph.hpp"
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

/// "1 sample", "12,345 samples".
std::string samples_text(std::uint64_t hits);
/// What a weight is: "12.3 s", "4.5 MiB", "12 page-faults"; empty where it has no unit but samples.
std::string unit_text(const NamedProfile& profile, std::uint64_t weight);
/// For tables: time, bytes, or the number of samples or events alone.
std::string amount_text(const NamedProfile& profile, std::uint64_t weight);

/// The name of a file of code; of the program's, what the program is called (profile/model.hpp).
std::string module_name(const NamedProfile& profile, std::string_view path);
/// The same of a function's file, as clean text.
std::string file_of(const NamedProfile& profile, FunctionId function);

/// The whole name of a box, as clean text (see text.hpp).
std::string box_name(const NamedProfile& profile, const CallTree& tree, const Box& box);

/// The short name (short_name()) of a function; the same as box_name for other boxes.
std::string box_label(const NamedProfile& profile, const CallTree& tree, const Box& box);

/// Clean text: name, counts and shares, then kind, place and module; a line each. `options`: those of the picture.
std::string box_tooltip(const NamedProfile& profile, const CallTree& tree, const Box& box,
                        const FlameGraphOptions& options);

}  // namespace flameprobe
