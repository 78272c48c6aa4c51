#include "symbolize/demangle.hpp"

#define HAVE_DECL_BASENAME 1  // or libiberty.h declares it, unlike <string.h> does
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>  // Fedora's binutils-devel
#endif

#include <algorithm>
#include <array>
#include <cctype>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace flameprobe {

namespace {

constexpr std::size_t longest_name = 64 * 1024;

/// References back into a name let some hundred bytes stand for gigabytes. The demanglers cannot be told to stop, so
/// the callback that gets the text leaves them by longjmp; that skips only C code, which holds no resources.
struct Output {
    std::jmp_buf too_long;
    char* text;
    std::size_t size;
};

extern "C" void append_output(const char* text, std::size_t size, void* opaque) {
    auto* output = static_cast<Output*>(opaque);
    if (size > longest_name - output->size) std::longjmp(output->too_long, 1);
    std::memcpy(output->text + output->size, text, size);
    output->size += size;
}

using Demangler = int (*)(const char* mangled, int options, demangle_callbackref callback, void* opaque);

bool run(Demangler demangler, const char* mangled, Output& output) {
    if (setjmp(output.too_long) != 0) return false;
    return demangler(mangled, DMGL_NO_OPTS, append_output, &output) != 0;
}

/// Empty if it is no name of that kind.
std::string demangle_with(Demangler demangler, const std::string& mangled) {
    const auto buffer = std::make_unique_for_overwrite<char[]>(longest_name);
    Output output{};
    output.text = buffer.get();
    if (mangled.size() > longest_name || !run(demangler, mangled.c_str(), output)) return {};
    return {output.text, output.size};
}

/// What GCC and LLVM append to a function that they split, specialised or made unique; a number may follow each.
constexpr std::array<std::string_view, 9> clone_marks = {".cold",       ".part", ".isra",   ".constprop", ".lto_priv",
                                                         ".localalias", ".llvm", ".__uniq", ".warm"};

bool all_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string_view without_clone_marks(std::string_view name) {
    for (std::string_view rest = name;;) {
        const auto dot = rest.rfind('.');
        if (dot == 0 || dot == rest.npos) return name;
        const std::string_view mark = rest.substr(dot);
        if (std::ranges::find(clone_marks, mark) != clone_marks.end())
            name = rest.substr(0, dot);
        else if (!all_digits(mark.substr(1)))
            return name;
        rest = rest.substr(0, dot);
    }
}

/// Whether D's demangler, which neither a callback nor a limit can stop, may be given a name. `Q` and a number in base
/// 26, whose last digit is a small letter, stand for what begins so far before it: for an identifier (its length comes
/// first), or for a type, which may have such references too. By these a few hundred bytes can stand for any number:
/// `n` of them for 3^(n/3) times the name.
bool d_name_is_bounded(std::string_view name) {
    constexpr std::uint64_t most = std::uint64_t{16} << 20;
    std::uint64_t size = name.size();
    bool second = false;
    for (std::size_t at = name.find('Q'); at != name.npos && size <= most; at = name.find('Q', at + 1)) {
        std::size_t back = 0, digit = at + 1;
        while (digit < name.size() && back < name.size() && name[digit] >= 'A' && name[digit] <= 'Z')
            back = back * 26 + static_cast<std::size_t>(name[digit++] - 'A');
        if (digit == name.size() || name[digit] < 'a' || name[digit] > 'z') continue;
        back = back * 26 + static_cast<std::size_t>(name[digit] - 'a');
        const bool is_type = back != 0 && back <= at && std::isdigit(static_cast<unsigned char>(name[at - back])) == 0;
        if (is_type && std::exchange(second, !second)) size *= 2;
    }
    return size <= most;
}

/// D's demangler always writes the parameters, at the end: `app.f!(int).f(int) const`.
std::string without_parameters(std::string name) {
    const auto close = name.rfind(')');
    if (close == name.npos) return name;
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
        depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
        if (depth == 0) return i == 0 || name[i - 1] == '!' ? name : name.substr(0, i);
    }
    return name;
}

/// The C++ demangler keeps the parameters in names of thunks.
std::string without_thunk_parameters(std::string name) {
    return name.find("thunk to ") == name.npos ? name : without_parameters(std::move(name));
}

}  // namespace

std::string demangle(std::string_view symbol) {
    const std::string name(without_clone_marks(symbol));
    if (name.starts_with("_R") || name.starts_with("_ZN"))
        if (std::string text = demangle_with(rust_demangle_callback, name); !text.empty()) return text;
    if (name.starts_with("_Z"))
        if (std::string text = demangle_with(cplus_demangle_v3_callback, name); !text.empty())
            return without_thunk_parameters(std::move(text));
    if (name.starts_with("_D") && name.size() <= longest_name && d_name_is_bounded(name))
        if (const std::unique_ptr<char, void (*)(void*)> text{dlang_demangle(name.c_str(), DMGL_NO_OPTS), std::free})
            return without_parameters(text.get());
    return name;
}

}  // namespace flameprobe
