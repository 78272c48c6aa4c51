// Who holds the lock that a thread waits for, by the words around its futex: a pure function of them, so that every
// rule can be tested.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/function_index.hpp"
#include "capture/blocked_reader.hpp"
#include "unwind/code_map.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// The function of glibc in which a thread waits. It tells what lies around the futex.
enum class LockFunction : std::uint8_t {
    none,
    mutex,       // pthread_mutex_lock, timedlock, clocklock
    condition,   // pthread_cond_wait and its like, which lock the mutex again before they return
    read_lock,   // pthread_rwlock_rdlock and its like
    write_lock,  // pthread_rwlock_wrlock and its like
};

/// A futex(2) call in which a thread is blocked.
struct FutexWait {
    std::uint64_t address = 0;
    unsigned operation = 0;  // without its flags
    std::uint32_t value = 0;
    bool is_private = false;  // to the process
    bool timed = false;
};
/// nullopt if the thread is blocked in anything else.
std::optional<FutexWait> futex_wait(const BlockedThread& thread);

/// Where the lock's words lie. glibc has kept these places since 2.25, on x86-64 and aarch64
/// (sysdeps/*/nptl/bits/struct_mutex.h, struct_rwlock.h).
struct LockPlace {
    std::uint64_t address = 0;  // of the lock
    std::size_t words = 0;      // to be read from there

    static constexpr std::size_t most_words = 8;
};
using LockWords = std::array<std::uint32_t, LockPlace::most_words>;

/// nullopt: what the thread waits for is no lock that has one holder.
std::optional<LockPlace> lock_place(LockFunction in, const FutexWait& wait);
/// The thread id that the words of the lock name as its holder, if they prove that it is held.
std::optional<std::uint32_t> lock_owner(LockFunction in, const FutexWait& wait, const LockWords& words);

/// Whether a stack stands in a function of glibc that takes a lock. The collector thread only.
class LockFunctions {
public:
    /// `map` must outlive it.
    explicit LockFunctions(const CodeMap& map) : map_(map) {}

    /// The function that a thread with these frames, leaf first, waits in.
    LockFunction of(std::span<const CodeFrame> frames);

private:
    /// One mapped glibc: libc.so.6, or libpthread.so.0 before glibc 2.34.
    struct Library {
        std::uint64_t bias = 0;
        std::vector<std::byte> index_bytes;
        FunctionIndex index;
        struct Entry {
            std::uint64_t end = 0;
            LockFunction function = LockFunction::none;
        };
        std::map<std::uint64_t, Entry> exported;      // by start, in the file's terms
        std::map<std::uint64_t, LockFunction> known;  // what the function at a start turned out to be
    };

    Library* library_of(std::uint32_t region, std::uint64_t address);
    static bool read(const CodeRegion& region, Library& library);
    static LockFunction function_at(Library& library, std::uint64_t address);

    const CodeMap& map_;
    std::unordered_map<std::uint32_t, Library> libraries_;  // by region; without exported: not glibc's
};

}  // namespace flameprobe
