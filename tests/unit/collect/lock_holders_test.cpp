// Threads that take locks and note who has which, looked at as fast as one can: whatever is said of a holder must have
// been so.
#include "collect/lock_holders.hpp"

#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/proc_maps.hpp"
#include "capture/map_watch.hpp"
#include "collect/pipeline.hpp"
#include "kept.hpp"

using namespace flameprobe;

namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool reports_unlocks = true;  // of a mutex by another thread than its owner
#else
constexpr bool reports_unlocks = false;
#endif

void rest(long ns) {
    const timespec span{0, ns};
    ::nanosleep(&span, nullptr);
}

/// A lock, and who has had it: the number of an entry says when.
struct Noted {
    static constexpr std::size_t most = 1 << 16;
    enum class Kind { mutex, recursive, adaptive, robust, priority, rwlock } kind = Kind::mutex;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    std::atomic<std::uint64_t> taken{0};
    std::unique_ptr<std::array<std::atomic<std::uint32_t>, most>> owners =
        std::make_unique<std::array<std::atomic<std::uint32_t>, most>>();

    void make(Kind which) {
        kind = which;
        pthread_mutexattr_t attributes;
        ::pthread_mutexattr_init(&attributes);
        if (kind == Kind::recursive) ::pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
        if (kind == Kind::adaptive) ::pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
        if (kind == Kind::robust) ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        if (kind == Kind::priority) ::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
        ::pthread_mutex_init(&mutex, &attributes);
        ::pthread_rwlock_init(&rwlock, nullptr);
    }
    std::uint64_t address() const {
        return kind == Kind::rwlock ? reinterpret_cast<std::uint64_t>(&rwlock)
                                    : reinterpret_cast<std::uint64_t>(&mutex);
    }
    void lock(unsigned way) {
        timespec late{};
        ::clock_gettime(CLOCK_REALTIME, &late);
        late.tv_sec += 100;
        if (kind == Kind::rwlock)
            way % 2 == 0 ? ::pthread_rwlock_wrlock(&rwlock) : ::pthread_rwlock_timedwrlock(&rwlock, &late);
        else
            way % 2 == 0 ? ::pthread_mutex_lock(&mutex) : ::pthread_mutex_timedlock(&mutex, &late);
        const std::uint64_t number = taken.load();
        (*owners)[number % most] = own_tid();
        taken = number + 1;
    }
    void unlock() { kind == Kind::rwlock ? ::pthread_rwlock_unlock(&rwlock) : ::pthread_mutex_unlock(&mutex); }
    void read() {
        ::pthread_rwlock_rdlock(&rwlock);
        ::pthread_rwlock_unlock(&rwlock);
    }
    /// Whether the thread had the lock at some time since `from` were taken. It may have it and not have noted it yet.
    bool had(std::uint32_t tid, std::uint64_t from) const {
        for (int patience = 0; patience < 2000; ++patience) {
            const std::uint64_t upto = taken.load();
            for (std::uint64_t at = from == 0 ? 0 : from - 1; at < upto; ++at)
                if ((*owners)[at % most] == tid) return true;
            ::usleep(100);
        }
        return false;
    }
};

/// A thread that takes one of the locks after the other, at random.
struct Taker {
    std::atomic<std::uint32_t> tid{0};
    std::atomic<std::uint64_t> turns{0};  // odd while it wants `lock`
    std::atomic<std::size_t> lock{0};
    std::thread thread;

    void run(std::vector<Noted>& locks, const std::atomic<bool>& over) {
        tid = own_tid();
        std::minstd_rand random(tid);
        while (!over) {
            lock = random() % locks.size();
            Noted& wanted = locks[lock];
            ++turns;
            if (wanted.kind == Noted::Kind::rwlock && random() % 3 == 0) {
                wanted.read();
                ++turns;
                continue;
            }
            wanted.lock(static_cast<unsigned>(random()));
            ++turns;
            if (random() % 4 != 0) rest(static_cast<long>(random() % 200'000));
            wanted.unlock();
            if (random() % 4 == 0) rest(static_cast<long>(random() % 20'000));
        }
    }
};

/// What looks at this process's threads, as OffCpu does.
struct Looker {
    Looker() {
        const auto maps = read_proc_maps();
        REQUIRE(maps);
        for (const MapsLine& line : maps->lines)
            if (line.executable) pipeline.take(raw_mapping(line));
    }
    std::shared_ptr<const Held> look(std::uint32_t tid) {
        BlockedThread where;
        if (reader.read(tid, where) != BlockedReader::Outcome::blocked) return nullptr;
        bool whole = false;
        pipeline.blocked_stack(where, whole);
        const auto looks = holders.find(tid, where);
        return looks ? looks->take().back() : nullptr;
    }
    /// Looks until a holder is found.
    std::shared_ptr<const Held> look_until(std::uint32_t tid) {
        std::shared_ptr<const Held> held;
        for (int i = 0; i < 20'000 && !held; ++i) {
            held = look(tid);
            if (!held) ::usleep(500);
        }
        return held;
    }

    Kept kept;
    Pipeline pipeline{kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid())};
    BlockedReader reader;
    LockHolders holders{pipeline, reader};
};

/// A thread that is blocked in `wait` until `wake` ends that.
template <class Wait>
struct Blocked {
    explicit Blocked(Wait wait)
        : thread([this, wait] {
              tid = own_tid();
              wait();
          }) {
        while (tid == 0) std::this_thread::yield();
    }
    std::atomic<std::uint32_t> tid{0};
    std::thread thread;
};

std::size_t full_size(std::size_t quick, std::size_t all) {
    const char* const size = std::getenv("FLAMEPROBE_TESTS");
    return size != nullptr && std::strcmp(size, "all") == 0 ? all : quick;
}

}  // namespace

TEST_CASE("every holder that looks name had the lock, of thousands") {
    using Kind = Noted::Kind;
    std::vector<Noted> locks(6);
    for (std::size_t at = 0; at < locks.size(); ++at) locks[at].make(static_cast<Kind>(at));
    std::atomic<bool> over{false};
    std::vector<Taker> takers(8);
    for (Taker& taker : takers) taker.thread = std::thread([&] { taker.run(locks, over); });
    Looker looker;
    const std::size_t wanted = full_size(1'000, 50'000);
    std::size_t found = 0, looks = 0, other_lock = 0, never_had = 0;
    std::array<std::size_t, 6> of_kind{};
    const std::uint64_t end = monotonic_ns() + 200'000'000'000;
    while (found < wanted && monotonic_ns() < end) {
        Taker& taker = takers[++looks % takers.size()];
        const std::uint64_t turn = taker.turns;
        const std::size_t lock = taker.lock;
        std::array<std::uint64_t, 6> taken{};
        for (std::size_t at = 0; at < locks.size(); ++at) taken[at] = locks[at].taken;
        const auto held = looker.look(taker.tid);
        if (!held) continue;
        ++found;
        const bool same_turn = turn % 2 == 1 && taker.turns == turn;
        std::size_t which = 0;
        while (which < locks.size() && locks[which].address() != held->lock) ++which;
        if (which == locks.size() || (same_turn && which != lock)) {
            ++other_lock;
            continue;
        }
        ++of_kind[which];
        never_had += locks[which].had(held->tid, taken[which]) ? 0 : 1;
    }
    over = true;
    for (Taker& taker : takers) taker.thread.join();
    MESSAGE(found << " holders of " << looks << " looks; by kind of lock " << of_kind[0] << " " << of_kind[1] << " "
                  << of_kind[2] << " " << of_kind[3] << " " << of_kind[4] << " " << of_kind[5]);
    CHECK(found == wanted);
    CHECK(other_lock == 0);
    CHECK(never_had == 0);
    for (const std::size_t each : of_kind) CHECK(each > 0);
}

TEST_CASE("what looks like a mutex, but is waited for by other code, has no holder") {
    struct {
        std::uint32_t lock = 2, count = 0, owner = own_tid(), users = 1, kind = 0, more[8] = {};
    } own;
    Looker looker;
    Blocked thread([&] { ::syscall(SYS_futex, &own.lock, 128, 2, nullptr, nullptr, 0); });
    BlockedThread where;
    for (int i = 0; i < 5000 && (looker.reader.read(thread.tid, where) != BlockedReader::Outcome::blocked ||
                                 where.call != SYS_futex);
         ++i)
        ::usleep(1000);
    REQUIRE(where.call == SYS_futex);
    CHECK_FALSE(looker.look(thread.tid));
    own.lock = 0;
    while (::syscall(SYS_futex, &own.lock, 129, 1, nullptr, nullptr, 0) == 0) ::usleep(1000);
    thread.thread.join();
}

TEST_CASE("a mutex whose owner has ended has no holder; after it is taken again it has" *
          doctest::skip(reports_unlocks)) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::thread([] { ::pthread_mutex_lock(&mutex); }).join();
    Looker looker;
    Blocked thread([&] {
        ::pthread_mutex_lock(&mutex);
        ::pthread_mutex_unlock(&mutex);
    });
    BlockedThread where;
    for (int i = 0; i < 5000 && (looker.reader.read(thread.tid, where) != BlockedReader::Outcome::blocked ||
                                 where.call != SYS_futex);
         ++i)
        ::usleep(1000);
    REQUIRE(where.call == SYS_futex);
    // The kernel may still list the thread that has ended.
    for (int i = 0; i < 5000 && looker.look(thread.tid) != nullptr; ++i) ::usleep(1000);
    CHECK_FALSE(looker.look(thread.tid));
    ::pthread_mutex_unlock(&mutex);
    thread.thread.join();
}

TEST_CASE("conditions, semaphores, eventfds, pipes and rwlocks that readers have say nothing") {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    static sem_t semaphore;
    static bool go = false;
    ::sem_init(&semaphore, 0, 0);
    const int events = ::eventfd(0, 0);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    ::pthread_rwlock_rdlock(&rwlock);
    Looker looker;
    Blocked on_condition([] {
        ::pthread_mutex_lock(&mutex);
        while (!go) ::pthread_cond_wait(&condition, &mutex);
        ::pthread_mutex_unlock(&mutex);
    });
    Blocked on_semaphore([] { ::sem_wait(&semaphore); });
    Blocked on_event([&] {
        std::uint64_t value = 0;
        return ::read(events, &value, sizeof value);
    });
    Blocked on_pipe([&] {
        char byte = 0;
        return ::read(ends[0], &byte, 1);
    });
    Blocked on_readers([] {
        ::pthread_rwlock_wrlock(&rwlock);
        ::pthread_rwlock_unlock(&rwlock);
    });
    ::usleep(50'000);
    for (int i = 0; i < 200; ++i)
        for (const std::uint32_t tid : {on_condition.tid.load(), on_semaphore.tid.load(), on_event.tid.load(),
                                        on_pipe.tid.load(), on_readers.tid.load()})
            CHECK_FALSE(looker.look(tid));
    ::pthread_mutex_lock(&mutex);
    go = true;
    ::pthread_cond_broadcast(&condition);
    // It is woken, and waits for the mutex, which this thread has.
    const auto held = looker.look_until(on_condition.tid);
    REQUIRE(held);
    CHECK(held->tid == own_tid());
    CHECK(held->lock == reinterpret_cast<std::uint64_t>(&mutex));
    ::pthread_mutex_unlock(&mutex);
    ::sem_post(&semaphore);
    const std::uint64_t one = 1;
    CHECK(::write(events, &one, sizeof one) == sizeof one);
    CHECK(::write(ends[1], "x", 1) == 1);
    ::pthread_rwlock_unlock(&rwlock);
    for (std::thread* thread :
         {&on_condition.thread, &on_semaphore.thread, &on_event.thread, &on_pipe.thread, &on_readers.thread})
        thread->join();
    for (const int fd : {events, ends[0], ends[1]}) ::close(fd);
}

TEST_CASE("who waits for whom is followed up to eight holders") {
    constexpr std::size_t count = 11;
    static std::array<pthread_mutex_t, count> locks;  // locks[i] is held by thread i, for which thread i - 1 waits
    static std::atomic<std::size_t> ready{0};
    static std::atomic<std::uint32_t> tids[count] = {};
    for (pthread_mutex_t& lock : locks) ::pthread_mutex_init(&lock, nullptr);
    ::pthread_mutex_lock(&locks.back());
    tids[count - 1] = own_tid();
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i + 1 < count; ++i)
        threads.emplace_back([i] {
            tids[i] = own_tid();
            ::pthread_mutex_lock(&locks[i]);
            for (++ready; ready + 1 < count;) ::usleep(100);
            ::pthread_mutex_lock(&locks[i + 1]);
            ::pthread_mutex_unlock(&locks[i + 1]);
            ::pthread_mutex_unlock(&locks[i]);
        });
    Looker looker;
    std::vector<std::uint32_t> named;
    for (int i = 0; i < 5000 && named.size() < 8; ++i) {  // they may not be blocked yet
        ::usleep(1000);
        named.clear();
        const auto first = looker.look(tids[0]);
        for (const Held* held = first.get(); held != nullptr; held = held->next.get()) named.push_back(held->tid);
    }
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 1; i <= 8; ++i) expected.push_back(tids[i]);
    CHECK(named == expected);
    // Of one that is nearer to the end of the chain all are named; this thread runs.
    named.clear();
    const auto last = looker.look_until(tids[5]);
    for (const Held* held = last.get(); held != nullptr; held = held->next.get()) named.push_back(held->tid);
    CHECK(named.size() == 5);
    CHECK(named.back() == own_tid());
    ::pthread_mutex_unlock(&locks.back());
    for (std::thread& thread : threads) thread.join();
}

TEST_CASE("threads that wait for each other are a deadlock once a second look finds them so") {
    static pthread_mutex_t first, second;
    ::pthread_mutex_init(&first, nullptr);
    ::pthread_mutex_init(&second, nullptr);
    static std::atomic<int> ready{0};
    const auto take = [](pthread_mutex_t& one, pthread_mutex_t& other) {
        ::pthread_mutex_lock(&one);
        for (++ready; ready != 2;) ::usleep(100);
        ::pthread_mutex_lock(&other);
    };
    // The threads never end.
    static std::atomic<std::uint32_t> tids[2] = {};
    std::thread([take] {
        tids[0] = own_tid();
        take(first, second);
    }).detach();
    std::thread([take] {
        tids[1] = own_tid();
        take(second, first);
    }).detach();
    while (ready != 2) ::usleep(100);
    Looker looker;
    looker.holders.begin_look();
    auto held = looker.look_until(tids[0]);
    for (int i = 0; i < 5000 && held && !held->next; ++i) {  // the other one may not have been blocked yet
        ::usleep(1000);
        held = looker.look_until(tids[0]);
    }
    REQUIRE(held);
    CHECK(held->tid == tids[1]);
    CHECK(held->blocked != 0);
    const std::shared_ptr<const Held> next = held->next;
    REQUIRE(next);
    CHECK(next->tid == tids[0]);
    CHECK_FALSE(next->is_deadlock());
    CHECK(looker.holders.take_deadlocks().empty());
    looker.holders.begin_look();
    CHECK(next->is_deadlock());
    const auto told = looker.holders.take_deadlocks();
    REQUIRE(told.size() == 1);
    REQUIRE(told[0].stacks.size() == 2);
    for (const auto& tid : tids) {
        const std::string thread = "(" + std::to_string(tid) + ") waits ";
        CHECK(told[0].sentence.find(thread) != std::string::npos);
        const auto stack =
            std::ranges::find_if(told[0].stacks, [&](const auto& line) { return line.find(thread) != line.npos; });
        REQUIRE(stack != told[0].stacks.end());
        CHECK(stack->find(" in futex < ") != std::string::npos);
        CHECK(stack->find(" < pthread_mutex_lock < ") != std::string::npos);
    }
    looker.holders.begin_look();
    CHECK(looker.holders.take_deadlocks().empty());
    const StackId stack = looker.holders.stack_with(0, *looker.look_until(tids[0]));
    std::vector<std::string> notes;
    for (StackId at = stack; at != 0; at = looker.kept.stacks[at].parent) {
        const Mapping& mapping = looker.kept.mappings[looker.kept.locations[looker.kept.stacks[at].location].mapping];
        if (mapping.kind == MappingKind::note) notes.push_back(mapping.path);
    }
    REQUIRE(notes.size() >= 4);
    CHECK(notes.front() == "[deadlock]");
    CHECK(is_holder_note(notes.back()));
}
