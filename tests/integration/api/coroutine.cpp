// Scopes across co_await: a coroutine's variables live on the heap, where no guard is seen, so the code that resumes it
// takes its context along. Guards only: nothing of FlameProbe is needed to build or run this.
#include <coroutine>
#include <ctime>
#include <deque>
#include <flameprobe/scope_context.hpp>

namespace {

struct Task {
    struct promise_type {
        FlameProbe::ScopeContext context;  // of the request that started it

        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};

void burn(double seconds) {
    const auto end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
    while (std::clock() < end) {
    }
}

// Only reached while a request's task runs, and only from the scheduler.
// Different constants, lest the compiler makes one function of them.
__attribute__((noinline)) void for_red() {
    burn(0.02);
    asm volatile("" : : "i"(1));
}
__attribute__((noinline)) void for_blue() {
    burn(0.02);
    asm volatile("" : : "i"(2));
}
__attribute__((noinline)) void for_nobody() {
    burn(0.01);
    asm volatile("" : : "i"(3));
}

Task red() {
    for (int i = 0; i < 15; ++i) {
        for_red();
        co_await std::suspend_always{};
    }
}
Task blue() {
    for (int i = 0; i < 15; ++i) {
        for_blue();
        co_await std::suspend_always{};
    }
}

template <class Start>
Task in_request(FlameProbe::Label label, Start start) {
    FlameProbe::Scope scope{label};
    Task task = start();
    task.handle.promise().context = FlameProbe::ScopeContext::capture();
    return task;
}

void resume(Task& task) {
    FlameProbe::Scope scopes{task.handle.promise().context};
    task.handle.resume();
}

}  // namespace

int main() {
    std::deque<Task> tasks{in_request("red", red), in_request("blue", blue)};
    while (!tasks.empty()) {
        Task task = tasks.front();
        tasks.pop_front();
        resume(task);
        for_nobody();
        if (task.handle.done()) {
            task.handle.destroy();
        } else {
            tasks.push_back(task);
        }
    }
}
