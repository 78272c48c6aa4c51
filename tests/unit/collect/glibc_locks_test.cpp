#include "collect/glibc_locks.hpp"

#include <doctest/doctest.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <initializer_list>
#include <tuple>

using namespace flameprobe;

namespace {

constexpr std::uint32_t holder = 4711, no_value = 0;
constexpr unsigned lock_pi2 = 13;

FutexWait wait_for(std::uint32_t value, unsigned operation = FUTEX_WAIT, bool is_private = true) {
    return {0x1000, operation, value, is_private, false};
}

LockWords mutex(std::uint32_t lock, std::uint32_t owner, std::uint32_t kind, std::uint32_t users = 1) {
    return {lock, 0, owner, users, kind};
}

LockWords rwlock(std::uint32_t readers, std::uint32_t phase, std::uint32_t writers, std::uint32_t writer) {
    return {readers, 0, phase, writers, 0, 0, writer, 0};
}

}  // namespace

TEST_CASE("a futex call's arguments are understood, and no other call's") {
    BlockedThread thread;
    thread.call = SYS_futex;
    thread.arguments = {0x7000, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 2, 0x7fff, 0, 0};
    const auto wait = futex_wait(thread);
    REQUIRE(wait);
    CHECK(wait->address == 0x7000);
    CHECK(wait->operation == FUTEX_WAIT_BITSET);
    CHECK(wait->value == 2);
    CHECK(wait->is_private);
    CHECK(wait->timed);
    thread.call = SYS_read;
    CHECK_FALSE(futex_wait(thread));
}

TEST_CASE("the owner of a mutex of each plain kind") {
    for (const std::uint32_t kind : {0u, 1u, 2u, 3u, 256u, 512u, 513u})
        for (const std::uint32_t lock : {1u, 2u})
            for (const unsigned operation : {FUTEX_WAIT, FUTEX_WAIT_BITSET}) {
                const FutexWait wait = wait_for(2, operation);
                REQUIRE(lock_place(LockFunction::mutex, wait));
                CHECK(lock_place(LockFunction::mutex, wait)->address == 0x1000);
                CHECK(lock_owner(LockFunction::mutex, wait, mutex(lock, holder, kind)) == holder);
            }
}

TEST_CASE("words that prove no owner of a mutex") {
    const FutexWait wait = wait_for(2);
    const auto owner = [&](const LockWords& words) { return lock_owner(LockFunction::mutex, wait, words); };
    CHECK_FALSE(owner(mutex(0, holder, 0)));      // is free
    CHECK_FALSE(owner(mutex(3, holder, 0)));      // no state of a mutex
    CHECK_FALSE(owner(mutex(2, 0, 0)));           // taken, and not signed yet; or given back
    CHECK_FALSE(owner(mutex(2, 0x7fffffff, 0)));  // no thread
    CHECK_FALSE(owner(mutex(2, holder, 0, 0)));   // nobody uses it
    CHECK_FALSE(owner(mutex(2, holder, 4)));      // no kind
    CHECK_FALSE(owner(mutex(2, holder, 0x12345678)));
    CHECK_FALSE(owner(mutex(2, holder, 128)));  // of several processes
    CHECK_FALSE(owner(mutex(2, holder, 64)));   // protected by a ceiling
    CHECK_FALSE(lock_owner(LockFunction::none, wait, mutex(2, holder, 0)));
    CHECK_FALSE(lock_place(LockFunction::none, wait));
    CHECK_FALSE(lock_owner(LockFunction::mutex, wait_for(2, FUTEX_WAIT, false), mutex(2, holder, 0)));
    CHECK_FALSE(lock_owner(LockFunction::mutex, wait_for(5), mutex(5, holder, 0)));
}

TEST_CASE("the owner of a robust mutex is in its lock") {
    const std::uint32_t lock = FUTEX_WAITERS | holder;
    const auto owner = [&](const LockWords& words) {
        return lock_owner(LockFunction::mutex, wait_for(lock, FUTEX_WAIT, false), words);
    };
    constexpr std::uint32_t robust = 16 | 128;
    CHECK(owner(mutex(lock, holder, robust)) == holder);
    CHECK(owner(mutex(lock, holder, robust | 1)) == holder);
    CHECK(owner(mutex(lock, 0x7fffffff, robust)) == holder);  // taken over from one that died
    CHECK_FALSE(owner(mutex(lock, holder + 1, robust)));
    CHECK_FALSE(owner(mutex(lock, 0, robust)));
    CHECK_FALSE(owner(mutex(lock, holder, 0)));
    CHECK_FALSE(owner(mutex(lock, holder, robust | 4)));
    CHECK_FALSE(owner(mutex(FUTEX_WAITERS | (holder + 1), holder + 1, robust)));  // another than it waits for
    CHECK_FALSE(owner(mutex(FUTEX_WAITERS | FUTEX_OWNER_DIED, 0, robust)));
}

TEST_CASE("the owner of a lock with priority inheritance is known from the kernel's own rule, in any function") {
    for (const unsigned operation : {unsigned{FUTEX_LOCK_PI}, lock_pi2}) {
        const FutexWait wait = wait_for(no_value, operation);
        REQUIRE(lock_place(LockFunction::none, wait));
        CHECK(lock_place(LockFunction::none, wait)->words == 1);
        CHECK(lock_owner(LockFunction::none, wait, {FUTEX_WAITERS | holder}) == holder);
        CHECK_FALSE(lock_owner(LockFunction::none, wait, {FUTEX_WAITERS | FUTEX_OWNER_DIED | holder}));
        CHECK_FALSE(lock_owner(LockFunction::none, wait, {FUTEX_WAITERS}));
        CHECK_FALSE(lock_place(LockFunction::none, wait_for(no_value, operation, false)));
    }
}

TEST_CASE("the writer of a rwlock, for readers and for writers") {
    const FutexWait wait = wait_for(3, FUTEX_WAIT_BITSET);
    CHECK(lock_place(LockFunction::read_lock, wait)->address == 0x1000 - 8);
    CHECK(lock_place(LockFunction::write_lock, wait)->address == 0x1000 - 12);
    CHECK(lock_owner(LockFunction::read_lock, wait, rwlock(11, 3, 1, holder)) == holder);
    CHECK(lock_owner(LockFunction::write_lock, wait, rwlock(3, 1, 3, holder)) == holder);
    // No writer inside, or not yet; no one waits there; shared between processes.
    CHECK_FALSE(lock_owner(LockFunction::read_lock, wait, rwlock(8, 3, 1, holder)));
    CHECK_FALSE(lock_owner(LockFunction::read_lock, wait, rwlock(11, 3, 1, 0)));
    CHECK_FALSE(lock_owner(LockFunction::read_lock, wait, rwlock(11, 1, 1, holder)));
    CHECK_FALSE(lock_owner(LockFunction::write_lock, wait, rwlock(3, 3, 1, holder)));
    LockWords shared = rwlock(11, 3, 1, holder);
    shared[7] = 1;
    CHECK_FALSE(lock_owner(LockFunction::read_lock, wait, shared));
    // A writer that waits for readers; a reader that waits for its turn.
    CHECK_FALSE(lock_place(LockFunction::write_lock, wait_for(2, FUTEX_WAIT_BITSET)));
    CHECK_FALSE(lock_place(LockFunction::read_lock, wait_for(12, FUTEX_WAIT_BITSET)));
}

TEST_CASE("a condition has no holder, but the mutex that its function locks again has") {
    CHECK_FALSE(lock_place(LockFunction::condition, wait_for(0, FUTEX_WAIT_BITSET)));
    CHECK_FALSE(lock_place(LockFunction::condition, wait_for(2, FUTEX_WAIT_BITSET)));
    CHECK_FALSE(lock_place(LockFunction::condition, wait_for(0)));
    REQUIRE(lock_place(LockFunction::condition, wait_for(2)));
    CHECK(lock_owner(LockFunction::condition, wait_for(2), mutex(2, holder, 0)) == holder);
}
