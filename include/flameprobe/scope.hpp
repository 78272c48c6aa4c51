// Labels what a thread is working on: `FlameProbe::Scope scope{"checkout"};`. A header of its own: a program that uses
// it needs nothing of FlameProbe at run time. Its labels appear as soon as it is sampled.
#pragma once

#include <cstddef>
#include <string_view>

#include "flameprobe/label.h"
#include "flameprobe/scope.h"

namespace FlameProbe {

/// A text that lives for ever, to label scopes with. As cheap to copy as a pointer.
class Label {
public:
    constexpr Label() noexcept = default;
#if defined(__cpp_consteval)
    /// From a string literal; anything that is not a constant does not compile.
    consteval Label(const char* literal) noexcept : text_(literal) {}
#else
    /// From a string literal.
    template <std::size_t size>
    constexpr Label(const char (&literal)[size]) noexcept : text_(literal) {}
#endif

    constexpr const char* text() const noexcept { return text_; }
    constexpr bool empty() const noexcept { return text_ == nullptr; }

    /// For texts known to live for ever, such as what intern() gave to a C caller.
    static constexpr Label from_immortal(const char* text) noexcept {
        Label label;
        label.text_ = text;
        return label;
    }

private:
    const char* text_ = nullptr;
};

/// The label of a text made at run time. Each distinct text is kept once, for ever: meant for things that are few.
/// Thread-safe, without a lock; at most 65,536 texts of 1023 bytes. Not for signal handlers.
inline Label intern(std::string_view text) noexcept {
    return Label::from_immortal(flameprobe_intern(text.data(), text.size()));
}

/// A label with a key, such as tenant = acme. Shown as `tenant=acme`.
inline Label intern(std::string_view key, std::string_view value) noexcept {
    return Label::from_immortal(flameprobe_intern_pair(key.data(), key.size(), value.data(), value.size()));
}

class ScopeContext;

/// A labelled span of this thread, from here to the end of the block; scopes nest. Must be a local variable: on the
/// heap (a member, an optional, across co_await) it is not seen. About a nanosecond; no call, lock, clock or
/// allocation.
class [[nodiscard]] Scope {
public:
    __attribute__((always_inline)) explicit Scope(Label label) noexcept {
        flameprobe_scope_enter(&record_, label.text());
    }
    /// All the scopes of a context at once (scope_context.hpp).
    __attribute__((always_inline)) inline explicit Scope(const ScopeContext& context) noexcept;
    __attribute__((always_inline)) ~Scope() { flameprobe_scope_leave(&record_); }

    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    static void* operator new(std::size_t) = delete;
    static void* operator new[](std::size_t) = delete;

private:
    flameprobe_scope record_;
};

}  // namespace FlameProbe
