#include "session/command_queue.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>
#include <vector>

using namespace flameprobe;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

}  // namespace

TEST_CASE("every request of many threads is answered, none is lost") {
    CommandQueue mailbox;
    std::atomic<std::uint32_t> seen{0};
    std::thread collector([&] {
        mailbox.set_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
        for (bool going_on = true; going_on;) {
            const auto requests = mailbox.take(10 * second);
            seen.fetch_or(requests);
            going_on = (requests & request_finish) == 0;
            mailbox.answer();
        }
    });
    std::atomic<int> answered{0};
    std::vector<std::thread> askers;
    for (const Request request : {request_start, request_stop, request_dump, request_flush}) {
        askers.emplace_back([&, request] {
            for (int i = 0; i < 2000; ++i) answered += mailbox.wait(mailbox.ask(request), 60 * second) ? 1 : 0;
        });
    }
    for (auto& asker : askers) asker.join();
    CHECK(mailbox.wait(mailbox.ask(request_finish), 60 * second));
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

TEST_CASE("a thread that waits on a collector that is stuck goes on") {
    CommandQueue mailbox;
    CHECK_FALSE(mailbox.wait(mailbox.ask(request_finish), second / 5));
}

TEST_CASE("a collector that says it is alive is waited for longer than the patience") {
    CommandQueue mailbox;
    std::thread collector([&] {
        mailbox.take(10 * second);
        for (int i = 0; i < 20; ++i) {
            ::usleep(100'000);
            mailbox.alive();
        }
        mailbox.answer();
    });
    CHECK(mailbox.wait(mailbox.ask(request_flush), second));
    collector.join();
}

TEST_CASE("a thread that waits on a collector that has ended goes on, with the answer if there is one") {
    CommandQueue mailbox;
    const auto answered = mailbox.ask(request_flush);
    std::thread([&] {
        mailbox.set_tid(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
        mailbox.take(10 * second);
        mailbox.answer();
    }).join();
    CHECK(mailbox.wait(answered, 3600 * second));
    CHECK_FALSE(mailbox.wait(mailbox.ask(request_stop), 3600 * second));
}

TEST_CASE("more than a ticket is waited for, and left for take()") {
    CommandQueue mailbox;
    const std::uint32_t ticket = mailbox.ask(request_start);
    CHECK_FALSE(mailbox.wait_for_more(ticket, 1));
    std::thread host([&] { mailbox.ask(request_finish); });
    CHECK(mailbox.wait_for_more(ticket, 60 * second) == (request_start | request_finish));
    host.join();
    CHECK(mailbox.take(second) == (request_start | request_finish));
}
