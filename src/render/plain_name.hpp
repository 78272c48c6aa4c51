// Names as sentences have them: shorter than a box's, since there is no room for a second line.
#pragma once

#include <string>
#include <string_view>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Whether a function is an allocator's entry or one of its insides: "operator new", "_int_free", "__rust_alloc".
bool is_allocator(std::string_view name);
/// Whether a function only calls others for an interpreter: CPython's evaluation and calls.
bool is_dispatch(std::string_view name);
/// Whether a file is the C library, or glibc's for threads.
bool is_libc(std::string_view module);
/// "memcmp" of "__memcmp_evex_movbe": the C library has a function's variants for different CPUs under such names.
std::string_view without_variant(std::string_view name);
/// Whether a name is that of a lambda or closure in `function`, both whole names.
bool is_closure_of(std::string_view name, std::string_view function);
/// Clean text: "memcpy" of "__memcpy_avx_unaligned_erms", "format!" of "alloc::fmt::format::format_inner", "main" of
/// "main::{lambda()#1}::operator()() const"; others' short names.
std::string plain_name(const NamedProfile& profile, FunctionId function);
inline constexpr std::string_view jit_code = "JIT code";
/// The file of code that has no name: "libz.so.1.2.13"; a program's as it is called; `jit_code`.
std::string nameless_file(const NamedProfile& profile, FunctionId function);

}  // namespace flameprobe
