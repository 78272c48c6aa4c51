// Source names of symbols.
#pragma once

#include <string>
#include <string_view>

namespace flameprobe {

/// The source name of a symbol: C++ (Itanium ABI), Rust (legacy without its hash, and v0) and D are demangled, without
/// parameters and return types but with template arguments, as perf does: `std::vector<int>::push_back`. Compilers'
/// clones (`.cold`, `.part.0`, `.isra.0`, `.constprop.0`, `.lto_priv.0`, ...) get their function's name. Anything else
/// comes back as it is. Thread-safe.
std::string demangle(std::string_view symbol);

}  // namespace flameprobe
