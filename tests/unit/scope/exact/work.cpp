#include "work.hpp"

#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

#include "flameprobe/scope_context.hpp"
#include "truth.hpp"
#include "work_parts.hpp"

namespace {

using FlameProbe::Label;
using FlameProbe::Scope;

// --- two hundred labels, nested at random ----------------------------------------------------------------------------
void any(int depth);

template <int n>
NOINLINE void one(int depth) {
    burn(3);
    {
        EXACT_GUARD(outer, n, Name<n>::text);
        burn(5);
        if (depth > 0) any(depth - 1);
        if (n % 3 == 0) {
            EXACT_GUARD(inner, (n + 7) % exact::labels, (Name<(n + 7) % exact::labels>::text));
            burn(2);
            if (depth > 1) any(depth - 2);
        }
        burn(2);
    }
    if (n % 5 == 0) {
        EXACT_GUARD(again, (n + 1) % exact::labels, (Name<(n + 1) % exact::labels>::text));
        burn(4);
    }
    cover(1);
}

template <int... n>
constexpr std::array<void (*)(int), sizeof...(n)> table(std::integer_sequence<int, n...>) {
    return {one<n>...};
}
constexpr auto functions = table(std::make_integer_sequence<int, exact::labels>());

NOINLINE void any(int depth) { functions[(next_random() >> 8) % functions.size()](depth); }

void nested() {
    for (int i = 0; i < 25; ++i) any(6);
}

// --- several in one frame, and in functions that call nothing --------------------------------------------------------
NOINLINE int leaf(int rounds) {
    int sum = 0;
    EXACT_GUARD(scope, 1, "L001");
    for (int i = 0; i < rounds; ++i) asm volatile("" : "+r"(sum));
    return sum;
}

inline void inlined(int rounds) {
    EXACT_GUARD(scope, 2, "L002");
    burn(rounds);
}

NOINLINE void one_frame() {
    EXACT_GUARD(first, 3, "L003");
    burn(2);
    {
        EXACT_GUARD(second, 4, "L004");
        inlined(3);
        EXACT_GUARD(third, 5, "L005");
        inlined(2);
        leaf(10);
    }
    for (int i = 0; i < 3; ++i) {
        EXACT_GUARD(loop, 6, "L006");
        inlined(i);
    }
}

void frames() {
    for (int i = 0; i < 20; ++i) {
        one_frame();
        leaf(5);
        cover(2);
    }
}

// --- exceptions ------------------------------------------------------------------------------------------------------
NOINLINE void thrower(int depth) {
    EXACT_GUARD(scope, 10 + depth, FlameProbe::Label::from_immortal(depth % 2 != 0 ? "odd" : "even"));
    burn(2);
    if (depth == 0) throw std::runtime_error("far");
    thrower(depth - 1);
    burn(1);
}

struct WorksWhileUnwinding {
    ~WorksWhileUnwinding() { burn(5); }
};

NOINLINE void catcher() {
    EXACT_GUARD(outside, 20, "L020");
    try {
        const WorksWhileUnwinding works;
        EXACT_GUARD(inside, 21, "L021");
        const WorksWhileUnwinding also_works;
        thrower(3);
    } catch (const std::runtime_error&) {
        burn(4);
        {
            EXACT_GUARD(handling, 22, "L022");
            burn(5);
        }
        try {
            throw;
        } catch (...) {
            burn(3);
        }
    }
    cover(2);
}

void exceptions() {
    catcher();
    cover(3);
}

// --- longjmp ---------------------------------------------------------------------------------------------------------
thread_local jmp_buf back;

// In C a record may be left behind like this; in C++ jumping over a guard's destructor is undefined.
NOINLINE void jumper(int depth) {
    const int noted = exact::self->current->depth;
    exact::self->current->open[noted] = {30 + depth, 0, 0};
    exact::fence();
    exact::self->current->depth = noted + 1;
    exact::fence();
    flameprobe_scope scope;
    flameprobe_scope_enter(&scope, "stale");
    burn(3);
    if (depth == 0) longjmp(back, 1);
    if (depth > 0) jumper(depth - 1);
    asm volatile("" : : "m"(scope));
}

NOINLINE void same_size_frame() {
    flameprobe_scope never_entered;
    asm volatile("" : : "r"(&never_entered));
    burn(5);
    asm volatile("" : : "r"(&never_entered));
}

// Lest the next jumper believes what the last one left in the same place (docs/scopes.md, "What cannot work").
NOINLINE void wipe() {
    char zeros[3000];
    memset(zeros, 0, sizeof zeros);
    asm volatile("" : : "r"(zeros) : "memory");
}

NOINLINE void jumps() {
    for (int i = 0; i < 5; ++i) {
        EXACT_GUARD(outside, 29, "L029");
        volatile const int depth = exact::self->current->depth;
        if (setjmp(back) == 0) jumper(4);
        // What the frames that were jumped out of had open is closed; their records are still there.
        exact::fence();
        exact::self->current->depth = depth;
        exact::fence();
        cover(10);
        same_size_frame();
        any(3);
        cover(5);
        wipe();
    }
}

// --- stacks switched by hand -----------------------------------------------------------------------------------------
constexpr int fibers = 3;
constexpr std::size_t fiber_stack = 64 << 10;
thread_local ucontext_t fiber_contexts[fibers], scheduler;
thread_local exact::Truth fiber_truths[fibers];
thread_local int fiber_now;

void switch_from(ucontext_t* from, ucontext_t* to, exact::Truth* truth) {
    exact::fence();
    exact::self->current = nullptr;
    exact::fence();
    ::swapcontext(from, to);
    exact::fence();
    exact::self->current = truth;
    exact::fence();
}

NOINLINE void yielding(int depth) {
    EXACT_GUARD(scope, 40 + depth, "in a fiber");
    burn(3);
    const int mine = fiber_now;
    switch_from(&fiber_contexts[mine], &scheduler, &fiber_truths[mine]);
    burn(4);
    if (depth > 0) yielding(depth - 1);
    switch_from(&fiber_contexts[mine], &scheduler, &fiber_truths[mine]);
    burn(2);
}

void fiber() {
    exact::fence();
    exact::self->current = &fiber_truths[fiber_now];
    exact::fence();
    for (int i = 0; i < 2; ++i) {
        yielding(3);
        cover(2);
    }
    exact::fence();
    exact::self->current = nullptr;
    exact::fence();
}

void switching() {
    exact::Truth* const mine = exact::self->current;
    const std::unique_ptr<char[]> stacks(
        new char[fibers * fiber_stack]);  // as the truths, not zeroed: that is many instructions
    for (int i = 0; i < fibers; ++i) {
        fiber_truths[i].depth = 0;
        ::getcontext(&fiber_contexts[i]);
        fiber_contexts[i].uc_stack.ss_sp = stacks.get() + static_cast<std::size_t>(i) * fiber_stack;
        fiber_contexts[i].uc_stack.ss_size = fiber_stack;
        fiber_contexts[i].uc_link = &scheduler;
        ::makecontext(&fiber_contexts[i], fiber, 0);
    }
    EXACT_GUARD(outside, 45, "L045");
    for (int round = 0; round < 19; ++round) {
        for (fiber_now = 0; fiber_now < fibers; ++fiber_now) {
            if (round < 17) switch_from(&scheduler, &fiber_contexts[fiber_now], mine);
            EXACT_GUARD(between, 46, "L046");
            burn(2);
        }
    }
}

// --- deeper than the copy --------------------------------------------------------------------------------------------
NOINLINE void deep(int depth) {
    char filler[200];
    asm volatile("" : : "r"(filler) : "memory");
    if (depth == 0) {
        for (int i = 0; i < 3; ++i) any(4);
    } else if (depth % 50 == 0) {
        EXACT_GUARD(scope, 50, "L050");
        deep(depth - 1);
        burn(1);
    } else {
        deep(depth - 1);
        burn(1);
    }
    asm volatile("" : : "r"(filler) : "memory");
}

void deep_stacks() { deep(400); }

// --- labels made at run time, and contexts ---------------------------------------------------------------------------
void made_labels() {
    const Label tenant = FlameProbe::intern("tenant", "acme");
    EXACT_GUARD(outer, 60, tenant);
    burn(3);
    const auto context = FlameProbe::ScopeContext::capture();
    {
        EXACT_GUARD(again, 61, context);
        burn(5);
    }
    for (int i = 0; i < 3; ++i) {
        EXACT_GUARD(computed, 62, FlameProbe::intern(std::string("phase ") + char('0' + i)));
        burn(5);
    }
}

}  // namespace

extern const std::span<const exact::Case> EXACT_WORK;
constexpr exact::Case cases[] = {
    {"200 labels, nested", nested},
    {"leaves, inlined, many in a frame", frames},
    {"exceptions", exceptions},
    {"longjmp", jumps},
    {"stack switching", switching},
    {"stacks beyond the copy", deep_stacks},
    {"labels made at run time", made_labels},
};
constinit const std::span<const exact::Case> EXACT_WORK{cases};
