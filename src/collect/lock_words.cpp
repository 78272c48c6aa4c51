#include "collect/lock_words.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>

namespace flameprobe {
namespace {

constexpr unsigned lock_pi2 = 13;  // FUTEX_LOCK_PI2 of Linux 5.14
constexpr std::uint32_t tid_mask = FUTEX_TID_MASK, waiters = FUTEX_WAITERS;

// pthread_mutex_t: lock, count, owner, nusers, kind.
constexpr std::size_t mutex_words = 5, mutex_owner = 2, mutex_users = 3, mutex_kind = 4;
constexpr std::uint32_t robust = 16 | 128,  // glibc marks them as shared between processes, whether they are or not
    elision_flags = 256 | 512, last_plain_kind = 3;
constexpr std::uint32_t inconsistent = 0x7fffffff;  // owner of a robust mutex whose last one died

// pthread_rwlock_t: readers, writers, phase futex, writers' futex, two of padding, current writer, shared.
constexpr std::size_t rwlock_words = 8, rw_readers = 0, phase_futex = 2, writers_futex = 3, rw_writer = 6,
                      rw_shared = 7;
constexpr std::uint32_t write_phase_locked = 3;  // of `readers`: PTHREAD_RWLOCK_WRPHASE and WRLOCKED
// What both futexes hold while somebody waits for a writer: 1, and PTHREAD_RWLOCK_FUTEX_USED.
constexpr std::uint32_t writer_inside = 3;

bool waits_for_priority_lock(const FutexWait& wait) {
    return wait.operation == FUTEX_LOCK_PI || wait.operation == lock_pi2;
}
bool waits_for_value(const FutexWait& wait) {
    return wait.operation == FUTEX_WAIT || wait.operation == FUTEX_WAIT_BITSET;
}

std::optional<std::uint32_t> thread_id(std::uint32_t word) {
    return (word & tid_mask) == 0 ? std::nullopt : std::optional(word & tid_mask);
}

/// Normal, recursive, error-checking and adaptive mutexes: the lock is 1, or 2 where somebody waits. The owner is
/// written after the lock is taken and wiped before it is given back.
std::optional<std::uint32_t> plain_owner(const LockWords& words) {
    const bool locked = words[0] == 1 || words[0] == 2;
    if (!locked || words[mutex_users] == 0 || (words[mutex_kind] & ~elision_flags) > last_plain_kind)
        return std::nullopt;
    return words[mutex_owner] > tid_mask ? std::nullopt : thread_id(words[mutex_owner]);
}

/// The kernel reads the lock of a robust mutex when a thread dies: it is the owner's id, and a flag for waiters.
std::optional<std::uint32_t> robust_owner(const FutexWait& wait, const LockWords& words) {
    const std::uint32_t kind = words[mutex_kind] & ~elision_flags, owner = words[mutex_owner];
    if (words[0] != wait.value || kind < robust || kind > robust + last_plain_kind) return std::nullopt;
    const auto holder = thread_id(words[0]);
    return owner == holder || owner == inconsistent ? holder : std::nullopt;
}

std::optional<std::uint32_t> writer(const LockWords& words, std::size_t futex) {
    const bool written = (words[rw_readers] & write_phase_locked) == write_phase_locked;
    if (!written || words[futex] != writer_inside || words[rw_shared] != 0) return std::nullopt;
    return words[rw_writer] > tid_mask ? std::nullopt : thread_id(words[rw_writer]);
}

}  // namespace

std::optional<FutexWait> futex_wait(const BlockedThread& thread) {
    if (thread.call != SYS_futex) return std::nullopt;
    const auto& arguments = thread.arguments;
    const auto operation = static_cast<unsigned>(arguments[1]);
    return FutexWait{arguments[0], operation & FUTEX_CMD_MASK, static_cast<std::uint32_t>(arguments[2]),
                     (operation & FUTEX_PRIVATE_FLAG) != 0, arguments[3] != 0};
}

std::optional<LockPlace> lock_place(LockFunction in, const FutexWait& wait) {
    // The kernel itself demands that such a word is the holder's id, whoever made the lock.
    if (waits_for_priority_lock(wait))
        return wait.is_private ? std::optional(LockPlace{wait.address, 1}) : std::nullopt;
    if (!waits_for_value(wait)) return std::nullopt;
    switch (in) {
        case LockFunction::mutex:
            return LockPlace{wait.address, mutex_words};
        case LockFunction::condition:
            // The condition itself is waited for by another operation.
            if (wait.operation != FUTEX_WAIT || wait.value != 2) return std::nullopt;
            return LockPlace{wait.address, mutex_words};
        case LockFunction::read_lock:
            // Or for its turn (rwlocks that prefer writers), for which no single thread is the holder.
            if (wait.value != writer_inside) return std::nullopt;
            return LockPlace{wait.address - phase_futex * sizeof(std::uint32_t), rwlock_words};
        case LockFunction::write_lock:
            // Or for readers, of whom the lock keeps only the number.
            if (wait.value != writer_inside) return std::nullopt;
            return LockPlace{wait.address - writers_futex * sizeof(std::uint32_t), rwlock_words};
        case LockFunction::none:
            break;
    }
    return std::nullopt;
}

std::optional<std::uint32_t> lock_owner(LockFunction in, const FutexWait& wait, const LockWords& words) {
    if (waits_for_priority_lock(wait)) return (words[0] & FUTEX_OWNER_DIED) != 0 ? std::nullopt : thread_id(words[0]);
    switch (in) {
        case LockFunction::mutex:
            if (wait.value == 2) return wait.is_private ? plain_owner(words) : std::nullopt;
            return (wait.value & waiters) != 0 ? robust_owner(wait, words) : std::nullopt;
        case LockFunction::condition:
            return wait.is_private ? plain_owner(words) : std::nullopt;
        case LockFunction::read_lock:
            return wait.is_private ? writer(words, phase_futex) : std::nullopt;
        case LockFunction::write_lock:
            return wait.is_private ? writer(words, writers_futex) : std::nullopt;
        case LockFunction::none:
            break;
    }
    return std::nullopt;
}

}  // namespace flameprobe
