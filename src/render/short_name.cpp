#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/paths.hpp"
#include "render/describe.hpp"
#include "render/plain_name.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

constexpr std::array<std::string_view, 26> operators = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=",
                                                        ">=", "->", "==",  "!=",  "&&",  "||",  "++", "--", "<",
                                                        ">",  "+",  "-",   "*",   "/",   "=",   "!",  ","};

/// The length of a name such as `operator<<` at `at`, whose signs are not brackets; 0 if there is none.
std::size_t operator_at(std::string_view text, std::size_t at) {
    constexpr std::string_view word = "operator";
    if (text.substr(at, word.size()) != word || (at > 0 && is_word(text[at - 1]))) return 0;
    const std::string_view rest = text.substr(at + word.size());
    if (rest.empty() || is_word(rest.front())) return 0;
    for (const std::string_view sign : operators)
        if (rest.starts_with(sign)) return word.size() + sign.size();
    return word.size();
}

/// The place behind the bracket that closes the one at `at`.
std::optional<std::size_t> behind_bracket(std::string_view text, std::size_t at) {
    std::string open;
    while (at < text.size()) {
        if (const std::size_t length = operator_at(text, at); length > 0) {
            at += length;
            continue;
        }
        const char c = text[at++];
        if (c == '<' || c == '(' || c == '[' || c == '{') {
            open += c;
        } else if (c == '>' && at >= 2 && (text[at - 2] == '-' || text[at - 2] == '=')) {
            continue;  // an arrow
        } else if (c == '>' || c == ')' || c == ']' || c == '}') {
            const char wanted = c == '>' ? '<' : c == ')' ? '(' : c == ']' ? '[' : '{';
            if (c == '>' && !open.empty() && open.back() != '<') continue;  // greater than
            if (open.empty() || open.back() != wanted) return std::nullopt;
            open.pop_back();
            if (open.empty()) return at;
        }
    }
    return std::nullopt;
}

/// `std::basic_string<char, ...>`, in any of its inline namespaces, becomes `std::string`.
std::string written_name(std::string name, std::string_view arguments) {
    constexpr std::string_view basic = "std::basic_";
    for (const std::string_view inline_namespace : {"std::__cxx11::", "std::__1::"}) {
        for (auto at = name.find(inline_namespace); at != name.npos; at = name.find(inline_namespace))
            name.replace(at, inline_namespace.size(), "std::");
    }
    const auto at = name.rfind(basic);
    if (at == name.npos || name.find("::", at + basic.size()) != name.npos) return name;
    const bool wide = arguments.starts_with("<wchar_t");
    if (!wide && !arguments.starts_with("<char,") && !arguments.starts_with("<char>")) return name;
    return name.substr(0, at) + (wide ? "std::w" : "std::") + name.substr(at + basic.size());
}

/// Of a function within a function, `f() const::{lambda()#1}::operator()`: the length of what stands between the
/// parameters and the next component; nothing where none follows.
std::optional<std::size_t> before_next_component(std::string_view rest) {
    std::size_t at = 0;
    const auto skip = [&](std::string_view word) {
        if (!rest.substr(at).starts_with(word)) return false;
        at += word.size();
        return true;
    };
    while (skip(" ") || skip("const") || skip("volatile") || skip("noexcept") || skip("&") || skip("[abi:cxx11]")) {
    }
    return rest.substr(at).starts_with("::") ? std::optional{at} : std::nullopt;
}

bool ends_name(std::string_view rest) {
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (rest.empty()) return true;
    return std::any_of(rest.begin(), rest.begin() + 1, [](char c) { return c == '&' || c == '['; }) ||
           rest.starts_with("const") || rest.starts_with("volatile") || rest.starts_with("noexcept") ||
           rest.starts_with("requires");
}

class Shortener {
public:
    explicit Shortener(std::string_view name) : name_(name) {}

    std::optional<std::string> run() {
        if (name_.starts_with('<') && !rust_path()) return std::nullopt;
        while (at_ < name_.size() && !done_) {
            if (!step()) return std::nullopt;
        }
        if (out_.ends_with(" const")) out_.resize(out_.size() - 6);
        return out_.empty() ? std::nullopt : std::optional{written_name(std::move(out_), {})};
    }

private:
    /// `<Type as Trait>::method` and `<Type>::method`.
    bool rust_path() {
        const auto behind = behind_bracket(name_, 0);
        if (!behind) return false;
        std::string_view inside = name_.substr(1, *behind - 2);
        for (std::size_t at = 0, depth = 0; at < inside.size(); ++at) {
            depth += inside[at] == '<' || inside[at] == '(' || inside[at] == '[';
            depth -= depth > 0 && (inside[at] == '>' || inside[at] == ')' || inside[at] == ']');
            if (depth == 0 && inside.substr(at).starts_with(" as ")) inside = inside.substr(0, at);
        }
        while (inside.starts_with('&')) inside.remove_prefix(1);
        if (inside.starts_with("mut ")) inside.remove_prefix(4);
        if (inside.starts_with("dyn ")) inside.remove_prefix(4);
        const auto type = inside.starts_with('[') || inside.starts_with('(') ? std::string(inside) : short_name(inside);
        out_ = type;
        at_ = *behind;
        return true;
    }

    bool step() {
        const char c = name_[at_];
        if (const std::size_t length = operator_at(name_, at_); length > 0) {
            take_operator(length);
        } else if (c == '<' || c == '(' || c == '{' || c == '[') {
            return take_bracket();
        } else {
            if (c == ' ') last_space_ = out_.size() + 1;
            out_ += c;
            ++at_;
        }
        return true;
    }

    void take_operator(std::size_t length) {
        return_type_ = last_space_;
        has_operator_ = true;
        out_ += name_.substr(at_, length);
        at_ += length;
    }

    bool take_bracket() {
        const auto behind = behind_bracket(name_, at_);
        if (!behind) return false;
        const std::string_view group = name_.substr(at_, *behind - at_);
        at_ = *behind;
        if (group.front() == '<')
            drop_arguments(group);
        else if (group.front() == '(')
            parameters(group);
        else if (group.front() == '{')
            braces(group);
        else if (!group.starts_with("[abi:"))
            out_ += group;
        return true;
    }

    void drop_arguments(std::string_view group) {
        out_ = written_name(std::move(out_), group);
        if (out_.ends_with("::")) out_.resize(out_.size() - 2);  // Rust's turbofish
        if (out_.ends_with(' ') && has_operator_) out_.pop_back();
        if (out_.size() < last_space_) last_space_ = 0;
    }

    /// Keeps `{lambda#1}` of `{lambda(int)#1}`, and `{closure#0}`.
    void braces(std::string_view group) {
        const auto from = group.find('('), to = group.rfind(')');
        const bool has_parameters = from != group.npos && to != group.npos && to > from;
        out_ += group.substr(0, has_parameters ? from : group.npos);
        if (has_parameters) out_ += group.substr(to + 1);
    }

    void parameters(std::string_view group) {
        const std::string_view rest = name_.substr(at_);
        if (group.starts_with("(anonymous") || out_.empty()) {
            out_ += group;
        } else if (const auto between = before_next_component(rest)) {
            drop_return_type();
            at_ += *between;
        } else if (ends_name(rest)) {
            drop_return_type();
            done_ = true;
        } else {
            out_ += group;
        }
    }

    /// Drops the return type, which only names with parameters have.
    void drop_return_type() {
        out_.erase(0, has_operator_ ? return_type_ : last_space_);
        last_space_ = return_type_ = 0;
    }

    const std::string_view name_;
    std::string out_;
    std::size_t at_ = 0;
    std::size_t last_space_ = 0;   // behind it in out_, 0 if there is none
    std::size_t return_type_ = 0;  // the same before an operator: `operator bool` has a space of its own
    bool has_operator_ = false;
    bool done_ = false;
};

std::string_view without_rust_hash(std::string_view name) {
    constexpr std::size_t length = 19;  // "::h" and 16 digits
    if (name.size() <= length || name.substr(name.size() - length, 3) != "::h") return name;
    const std::string_view digits = name.substr(name.size() - 16);
    const bool hash =
        std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f'); });
    return hash ? name.substr(0, name.size() - length) : name;
}

/// Of what node and Python write into perf maps, "JS:*parse /home/me/shop/cart.js:3:12" and "py::work:/home/me/w.py":
/// the directories are left out.
std::string without_directories(std::string_view name, std::string_view before_path) {
    const std::size_t at = name.find(before_path);
    if (at == name.npos) return std::string(name);
    return std::string(name.substr(0, at + before_path.size() - 1)).append(base_name(name.substr(at)));
}

}  // namespace

std::string short_name(std::string_view name) {
    if (name.starts_with("JS:")) return without_directories(name, " /");
    if (name.starts_with("py::")) return without_directories(name, ":/");
    name = without_rust_hash(name);
    auto made = Shortener(name).run();
    return made && !made->empty() ? std::move(*made) : std::string(name);
}

std::string short_name(const NamedProfile& profile, FunctionId id) {
    const Function& function = profile.functions[id];
    const std::string_view name = profile.strings.view(function.name);
    const bool code =
        function.kind == FrameKind::user || function.kind == FrameKind::inlined || function.kind == FrameKind::held;
    if (!code || name.starts_with('[')) return std::string(name);
    const std::string_view module = profile.strings.view(function.module);
    const bool has_variants = is_libc(module) || base_name(module).starts_with("libm.");
    return short_name(has_variants ? without_variant(name) : name);
}

std::string fit_name(std::string_view clean, std::size_t room) {
    if (columns(clean) <= room) return std::string(clean);
    std::string_view last = clean;
    const auto next = [clean](std::size_t from) { return std::min(clean.find("::", from), clean.find(": ", from)); };
    for (std::size_t at = next(0); at != clean.npos; at = next(at + 2)) {
        const std::string_view rest = clean.substr(at + 2);
        if (rest.empty()) break;
        if (rest.starts_with('{') || rest.starts_with("operator()")) continue;  // in the function before it
        last = rest;
        if (columns(rest) + 1 <= room) return "…" + std::string(rest);
    }
    // For code without a name the address stays: the file's name alone is the same for all of its functions.
    const std::size_t address = clean.starts_with('[') ? clean.rfind("+0x") : clean.npos;
    if (address != clean.npos && columns(clean.substr(address)) + 1 <= room) {
        const std::string_view end = clean.substr(address);
        const std::string begin = fit_columns(clean.substr(0, address), room - columns(end));
        return (begin.empty() ? "…" : begin) + std::string(end);
    }
    return fit_columns(last, room);
}

void shorten_names(NamedProfile& profile) {
    for (FunctionId id = 0; id < profile.functions.size(); ++id)
        profile.functions[id].name = profile.strings.intern(short_name(profile, id));
}

}  // namespace flameprobe
