// Which scopes are open, noted by the program that opens them in a place where its tracer reads it. Around each opening
// and closing there is a moment in which the note is not certain, since the guard and the note cannot change in one
// instruction.
#pragma once

#include <cstdint>

#include "flameprobe/scope.h"

namespace exact {

struct Noted {
    std::int32_t label = 0;
    std::int32_t certain = 0;
    std::uint64_t guard = 0;  // its address
};

/// The open scopes of one stack.
struct Truth {
    std::int32_t depth = 0;
    Noted open[2000];
};

/// `current` is that of the stack in use; null while nothing is certain.
struct Thread {
    std::int32_t tid = 0;
    Truth* current = nullptr;
};

constexpr int most_threads = 16;
extern Thread threads[most_threads];  // read by the tracer

inline thread_local Thread* self = nullptr;

inline void fence() { asm volatile("" : : : "memory"); }

/// Declared before the guard, so that it is constructed first and destroyed last.
class Opening {
public:
    explicit Opening(int label) {
        Truth& truth = *self->current;
        truth.open[truth.depth] = {label, 0, 0};
        fence();
        ++truth.depth;
        fence();
    }
    ~Opening() {
        fence();
        --self->current->depth;
        fence();
    }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
};

/// Declared after the guard.
class Open {
public:
    explicit Open(const void* guard) : noted_(&self->current->open[self->current->depth - 1]) {
        fence();
        noted_->guard = reinterpret_cast<std::uintptr_t>(guard);
        noted_->certain = 1;
        fence();
    }
    ~Open() {
        fence();
        noted_->certain = 0;
        fence();
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

private:
    Noted* noted_;
};

}  // namespace exact

// Declarations, not statements: the guard lives to the end of the block.
#define EXACT_GUARD(name, label, text)          \
    const exact::Opening opening_##name(label); \
    const FlameProbe::Scope name{text};         \
    const exact::Open open_##name(&name)
