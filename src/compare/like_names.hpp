// What of a name stays the same from run to run, from build to build and from compiler to compiler.
#pragma once

#include <string>
#include <string_view>

namespace flameprobe {

/// The function that a piece of code is of: without `.cold`, `.part.0`, `.isra.0`, `[clone ...]`, Rust's hash, a symbol
/// version and the tier of a just-in-time compiler. `[...]` comes back as it is.
std::string whole_function(std::string_view name);

/// What a name has in common with those of other template arguments, parameters, lambda numbers and addresses.
std::string loose_name(std::string_view name);

/// The file of code without a name, without its version: `[libz.so]` of `[libz.so.1.2.13+0x57e0]`; empty for others.
std::string unnamed_file(std::string_view name);

/// A thread without its numbers: `worker-*` of `worker-17`; a name that begins with its number stays.
std::string thread_role(std::string_view name);

/// The first frame of a process without pid or number of processes: `nginx` of `nginx 4711` and of `nginx × 8`.
std::string process_role(std::string_view name);

}  // namespace flameprobe
