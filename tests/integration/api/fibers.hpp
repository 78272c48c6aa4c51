// Stacks switched by hand: tasks of one thread that give way to each other in the middle.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>

/// Of one thread, which it must not leave.
class Fibers {
public:
    /// Runs `task(argument)` until it gives way or ends; the one that gave way first goes on to its end before, if
    /// there is no stack left.
    void begin(void (*task)(int), int argument) {
        Fiber& fiber = fibers_[next_];
        next_ = (next_ + 1) % fibers_.size();
        finish(fiber);
        fiber.task = task;
        fiber.argument = argument;
        fiber.busy = true;
        ::getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &owner_;
        ::makecontext(&fiber.context, run, 0);
        switch_to(fiber);
    }
    void finish_all() {
        for (Fiber& fiber : fibers_) finish(fiber);
    }
    /// Called by a task: the thread goes on where it began or resumed it.
    static void give_way() {
        Fiber* const self = running_;
        ::swapcontext(&self->context, self->back);
    }

private:
    struct Fiber {
        ucontext_t context;
        ucontext_t* back = nullptr;
        void (*task)(int) = nullptr;
        int argument = 0;
        bool busy = false;
        alignas(16) std::array<char, 64 << 10> stack;  // the copies of one reach into the next
    };

    static void run() {
        Fiber* const self = running_;
        self->task(self->argument);
        self->busy = false;
    }
    void switch_to(Fiber& fiber) {
        fiber.back = &owner_;
        running_ = &fiber;
        ::swapcontext(&owner_, &fiber.context);
        running_ = nullptr;
    }
    void finish(Fiber& fiber) {
        while (fiber.busy) switch_to(fiber);
    }

    static inline thread_local Fiber* running_ = nullptr;
    ucontext_t owner_;
    std::array<Fiber, 3> fibers_;
    std::size_t next_ = 0;
};
