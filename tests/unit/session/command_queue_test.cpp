#include "session/command_queue.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <thread>
#include <vector>

using namespace flameprobe;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

std::atomic<int> ticks{0};

/// Sends SIGUSR2 to the calling thread, as often as the kernel can, while it lives.
class OwnTimer {
public:
    OwnTimer() {
        struct sigaction count {};
        count.sa_handler = [](int) { ++ticks; };
        REQUIRE(::sigaction(SIGUSR2, &count, nullptr) == 0);
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGUSR2;
        event._sigev_un._tid = static_cast<int>(::syscall(SYS_gettid));
        REQUIRE(::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0);
        const itimerspec often{{0, 50'000}, {0, 50'000}};
        REQUIRE(::timer_settime(timer_, 0, &often, nullptr) == 0);
    }
    ~OwnTimer() { ::timer_delete(timer_); }
    OwnTimer(const OwnTimer&) = delete;
    OwnTimer& operator=(const OwnTimer&) = delete;

private:
    timer_t timer_{};
};

}  // namespace

TEST_CASE("every request of many threads is answered, none is lost") {
    CommandQueue queue;
    std::atomic<std::uint32_t> seen{0};
    std::thread collector([&] {
        queue.set_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
        for (bool going_on = true; going_on;) {
            const auto requests = queue.take(10 * second);
            seen.fetch_or(requests);
            going_on = (requests & request_finish) == 0;
            queue.answer();
        }
    });
    std::atomic<int> answered{0};
    std::vector<std::thread> askers;
    for (const Request request : {request_start, request_stop, request_dump, request_flush}) {
        askers.emplace_back([&, request] {
            for (int i = 0; i < 2000; ++i) answered += queue.wait(queue.ask(request), 60 * second) ? 1 : 0;
        });
    }
    for (auto& asker : askers) asker.join();
    CHECK(queue.wait(queue.ask(request_finish), 60 * second));
    collector.join();
    CHECK(answered == 8000);
    CHECK(seen == (request_start | request_stop | request_dump | request_flush | request_finish));
}

TEST_CASE("a last request is answered under its own ticket, whatever else is asked meanwhile") {
    for (int i = 0; i < 400; ++i) {
        CommandQueue queue;
        std::atomic<bool> begun{false}, over{false};
        std::thread others([&] {
            while (!over) queue.ask(request_flush);
        });
        std::thread collector([&] {
            begun = true;
            while ((queue.take(0) & request_finish) == 0) {
            }
            queue.answer();
            over = true;
        });
        while (!begun) std::this_thread::yield();
        const std::uint32_t ticket = queue.ask(request_finish);
        collector.join();
        others.join();
        REQUIRE(queue.answered(ticket));
    }
}

TEST_CASE("a thread gives up waiting for a collector that is stuck") {
    CommandQueue queue;
    CHECK_FALSE(queue.wait(queue.ask(request_finish), second / 5));
}

TEST_CASE("a collector that is stuck is waited for once, until it goes on") {
    CommandQueue queue;
    CHECK_FALSE(queue.wait(queue.ask(request_flush), second / 5));
    CHECK_FALSE(queue.wait(queue.ask(request_stop), 3600 * second));
    std::thread collector([&] {
        queue.alive();
        ::usleep(300'000);
        queue.take(10 * second);
        queue.answer();
    });
    const std::uint32_t ticket = queue.ask(request_finish);
    collector.join();
    CHECK(queue.wait(ticket, 3600 * second));
}

TEST_CASE("signals that end each turn of a wait do not end the wait") {
    CommandQueue queue;
    const std::uint32_t ticket = queue.ask(request_finish);
    const OwnTimer timer;
    std::thread collector([&] {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        while (ticks < 2000) ::usleep(1000);  // more than 60 s hold turns of 50 ms
        queue.take(10 * second);
        queue.answer();
    });
    CHECK(queue.wait(ticket, 60 * second));
    collector.join();
}

TEST_CASE("CPU time is progress only until it is as much as a thread waits, since the last step") {
    CommandQueue queue;
    std::atomic<bool> over{false};
    std::thread collector([&] {
        queue.set_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
        queue.alive();
        while (!over) {
        }
    });
    CHECK_FALSE(queue.wait(queue.ask(request_flush), second / 5));
    CHECK_FALSE(queue.wait(queue.ask(request_finish), second / 5));
    over = true;
    collector.join();
}

TEST_CASE("a collector that says it is alive is waited for beyond the timeout") {
    CommandQueue queue;
    std::thread collector([&] {
        queue.take(10 * second);
        for (int i = 0; i < 20; ++i) {
            ::usleep(100'000);
            queue.alive();
        }
        queue.answer();
    });
    CHECK(queue.wait(queue.ask(request_flush), second));
    collector.join();
}

TEST_CASE("a thread does not wait for a collector that has ended, and gets the answer if there is one") {
    CommandQueue queue;
    const auto answered = queue.ask(request_flush);
    std::thread([&] {
        queue.set_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
        queue.take(10 * second);
        queue.answer();
    }).join();
    CHECK(queue.wait(answered, 3600 * second));
    CHECK_FALSE(queue.wait(queue.ask(request_stop), 3600 * second));
}

TEST_CASE("wait_for_more() waits for a request after the ticket's, and leaves all for take()") {
    CommandQueue queue;
    const std::uint32_t ticket = queue.ask(request_start);
    CHECK_FALSE(queue.wait_for_more(ticket, 1));
    std::thread host([&] { queue.ask(request_finish); });
    CHECK(queue.wait_for_more(ticket, 60 * second) == (request_start | request_finish));
    host.join();
    CHECK(queue.take(second) == (request_start | request_finish));
}
