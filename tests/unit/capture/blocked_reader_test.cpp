#include "capture/blocked_reader.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace flameprobe;

TEST_CASE("the text of /proc/PID/task/TID/syscall is parsed") {
    BlockedThread thread;
    CHECK(parse_blocked("202 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffd10 0x7f0abc\n", thread));
    CHECK(thread.call == 202);
    CHECK(thread.sp == 0x7ffd10);
    CHECK(thread.pc == 0x7f0abc);
    CHECK(thread.arguments == std::array<std::uint64_t, 6>{1, 0x80, 0, 0, 0, 0});
    CHECK(parse_blocked("-1 0x7ffd20 0x401000\n", thread));
    CHECK(thread.call == BlockedThread::no_call);
    CHECK(thread.sp == 0x7ffd20);
    CHECK(thread.pc == 0x401000);
    for (const char* other : {"running\n", "", "202\n", "202 0x1 0x2\n", "-1 0x7ffd20\n", "0 0 0 0 0 0 0 0 0\n"})
        CHECK_FALSE(parse_blocked(other, thread));
}

TEST_CASE("of a blocked thread the call and stack pointer are read; running and ended threads are recognised") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::atomic<std::uint32_t> tid{0};
    std::atomic<std::uint64_t> stack{0};
    std::thread waiting([&] {
        char byte = 0;
        stack = reinterpret_cast<std::uint64_t>(&byte);
        tid = static_cast<std::uint32_t>(::gettid());
        if (::read(ends[0], &byte, 1) != 1) tid = 0;
    });
    BlockedReader reader;
    BlockedThread thread;
    const auto blocked = [&] {
        return tid != 0 && reader.read(tid, thread) == BlockedReader::Outcome::blocked && thread.call == SYS_read;
    };
    for (int i = 0; i < 5000 && !blocked(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(blocked());
    CHECK(thread.sp <= stack);
    CHECK(stack - thread.sp < 4096);
    std::atomic<std::uint32_t> busy_tid{0};
    std::atomic<bool> busy{true};
    std::thread working([&] {
        busy_tid = static_cast<std::uint32_t>(::gettid());
        while (busy) continue;
    });
    while (busy_tid == 0) std::this_thread::yield();
    CHECK(reader.read(busy_tid, thread) == BlockedReader::Outcome::runs);
    busy = false;
    working.join();
    REQUIRE(::write(ends[1], "x", 1) == 1);
    waiting.join();
    // The kernel wakes the joining thread before it takes the thread out of /proc (mm_release, release_task).
    const auto gone = [&] { return reader.read(tid, thread) == BlockedReader::Outcome::gone; };
    for (int i = 0; i < 5000 && !gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(gone());
    CHECK(reader.why_refused().empty());
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("a thread's account stays the same while it waits, and ends with it") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::atomic<std::uint32_t> tid{0};
    std::atomic<int> taken{0};
    std::thread waiting([&] {
        tid = static_cast<std::uint32_t>(::gettid());
        for (char byte = 0; taken < 2 && ::read(ends[0], &byte, 1) == 1; ++taken) continue;
    });
    BlockedReader reader;
    BlockedThread thread;
    const auto until = [](const auto& is_so) {
        for (int i = 0; i < 5000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return is_so();
    };
    const auto blocked = [&] {
        return tid != 0 && reader.read(tid, thread) == BlockedReader::Outcome::blocked && thread.call == SYS_read;
    };
    REQUIRE(until(blocked));
    const auto before = reader.schedule(tid);
    REQUIRE(before);
    CHECK(reader.schedule(tid)->slices == before->slices);
    REQUIRE(::write(ends[1], "x", 1) == 1);
    REQUIRE(until([&] { return taken == 1 && blocked(); }));
    CHECK(reader.schedule(tid)->slices > before->slices);
    REQUIRE(::write(ends[1], "x", 1) == 1);
    waiting.join();
    CHECK(until([&] { return !reader.schedule(tid); }));
    CHECK(reader.read(tid, thread) == BlockedReader::Outcome::gone);
    for (const int fd : ends) ::close(fd);
}
