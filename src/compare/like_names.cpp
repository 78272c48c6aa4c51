#include "compare/like_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "profile/names.hpp"
#include "render/describe.hpp"

namespace flameprobe {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

std::string_view without_digits_at_end(std::string_view text) {
    while (!text.empty() && is_digit(text.back())) text.remove_suffix(1);
    return text;
}

// GCC's and clang's names of parts and copies of a function; behind most of them a number.
constexpr std::array<std::string_view, 9> clones = {".cold", ".part",  ".isra",       ".constprop", ".lto_priv",
                                                    ".llvm", ".clone", ".localalias", ".warm"};

/// Without the last suffix of a clone; the same text if it has none.
std::string_view without_clone(std::string_view name) {
    if (name.ends_with(']')) {
        const std::size_t at = name.rfind(" [clone ");
        return at == name.npos ? name : name.substr(0, at);
    }
    if (name.ends_with(')')) {
        const std::size_t at = name.rfind(" (.");
        return at == name.npos ? name : name.substr(0, at);
    }
    const std::string_view text = without_digits_at_end(name);
    const std::string_view stem =
        text.size() < name.size() && text.ends_with('.') ? text.substr(0, text.size() - 1) : name;
    for (const std::string_view clone : clones)
        if (stem.ends_with(clone) && stem.size() > clone.size()) return stem.substr(0, stem.size() - clone.size());
    return stem;
}

std::string_view without_hash(std::string_view name) {
    constexpr std::size_t length = 19;  // "::h" and 16 digits
    if (name.size() <= length || name.substr(name.size() - length, 3) != "::h") return name;
    return std::ranges::all_of(name.substr(name.size() - 16), is_hex) ? name.substr(0, name.size() - length) : name;
}

std::string_view without_version(std::string_view name) {
    const std::size_t at = name.find('@');
    return at == name.npos || at == 0 || name.substr(at) == "@plt" || name.find(' ') < at ? name : name.substr(0, at);
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

}  // namespace

std::string whole_function(std::string_view name) {
    if (name.starts_with('[')) return std::string(name);
    if (name.starts_with("JS:")) {
        std::string_view rest = name.substr(3);
        while (!rest.empty() && std::string_view("*~^+").find(rest.front()) != std::string_view::npos)
            rest.remove_prefix(1);
        return "JS:" + std::string(rest);
    }
    if (name.starts_with("py::")) return std::string(name);
    for (std::string_view less = without_clone(name); less != name; less = without_clone(name)) name = less;
    if (name.starts_with(glibc_alias) && name.size() > glibc_alias.size()) name.remove_prefix(glibc_alias.size());
    return std::string(without_version(without_hash(name)));
}

std::string loose_name(std::string_view name) {
    if (name.starts_with('[')) return std::string(name);
    std::string text = short_name(whole_function(name));
    replace_all(text, "'lambda'", "{lambda}");
    replace_all(text, "{{closure}}", "{closure}");
    replace_all(text, "_GLOBAL__N_1", "(anonymous namespace)");
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = std::string_view(text).substr(at);
        if (rest.starts_with("0x") && rest.size() > 5 && is_hex(rest[2])) {
            out += "0x";
            for (at += 2; at < text.size() && is_hex(text[at]);) ++at;
        } else if (rest.starts_with("$_") || (rest.front() == '#' && out.find('{') != out.npos)) {
            if (rest.front() == '$') out += "{lambda}";  // clang's
            for (at += rest.front() == '$' ? 2 : 1; at < text.size() && is_digit(text[at]);) ++at;
        } else {
            out += text[at++];
        }
    }
    return out;
}

std::string unnamed_file(std::string_view name) {
    const std::size_t address = name.rfind("+0x");
    if (!name.starts_with('[') || !name.ends_with(']') || address == name.npos) return {};
    std::string_view file = name.substr(1, address - 1);
    const std::size_t library = file.find(".so.");
    if (library != file.npos) return "[" + std::string(file.substr(0, library)) + ".so]";
    while (true) {  // `server-1.24.0`, but not `cc1`
        const std::string_view less = without_digits_at_end(file);
        if (less.size() == file.size() || less.size() < 2) break;
        if (std::string_view(".-_").find(less.back()) == std::string_view::npos) break;
        file = less.substr(0, less.size() - 1);
    }
    return "[" + std::string(file) + "]";
}

std::string thread_role(std::string_view name) {
    std::string role;
    for (std::size_t at = 0; at < name.size();) {
        if (!is_digit(name[at]) || role.empty()) {
            role += name[at++];
            continue;
        }
        role += '*';
        while (at < name.size() && is_digit(name[at])) ++at;
    }
    return role;
}

std::string process_role(std::string_view name) {
    std::string_view role = without_digits_at_end(name);
    if (role.size() == name.size() || !role.ends_with(' ')) return std::string(name);
    role.remove_suffix(1);
    constexpr std::string_view times = " ×";
    if (role.ends_with(times)) role.remove_suffix(times.size());
    return role.empty() ? std::string(name) : std::string(role);
}

}  // namespace flameprobe
