#include "collect/glibc_locks.hpp"

#include <elf.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/self_memory.hpp"
#include "collect/raw_names.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/elf_image.hpp"

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

namespace {

// A lock's function calls one that waits, which may call another.
constexpr std::size_t most_frames = 5;
// libc's function that waits for a lock, the one that locks the mutex, and the condition's.
constexpr std::size_t condition_frame = 2;

constexpr std::array<std::pair<std::string_view, LockFunction>, 12> lock_functions{{
    {"pthread_mutex_lock", LockFunction::mutex},
    {"pthread_mutex_timedlock", LockFunction::mutex},
    {"pthread_mutex_clocklock", LockFunction::mutex},
    {"pthread_cond_wait", LockFunction::condition},
    {"pthread_cond_timedwait", LockFunction::condition},
    {"pthread_cond_clockwait", LockFunction::condition},
    {"pthread_rwlock_rdlock", LockFunction::read_lock},
    {"pthread_rwlock_timedrdlock", LockFunction::read_lock},
    {"pthread_rwlock_clockrdlock", LockFunction::read_lock},
    {"pthread_rwlock_wrlock", LockFunction::write_lock},
    {"pthread_rwlock_timedwrlock", LockFunction::write_lock},
    {"pthread_rwlock_clockwrlock", LockFunction::write_lock},
}};

LockFunction function_named(std::string_view name) {
    const auto found = std::ranges::find(lock_functions, name, &std::pair<std::string_view, LockFunction>::first);
    return found == lock_functions.end() ? LockFunction::none : found->second;
}

}  // namespace

bool LockFunctions::read(const CodeRegion& region, Library& library) {
    auto image = ElfImage::from_file(region);
    if (!image) image = ElfImage::from_memory(region, ElfImage::Parts::all);
    const auto bias = image ? image->bias(region) : std::nullopt;
    if (!bias) return false;
    const ReadFile file = [&](std::uint64_t at, std::span<std::byte> out) { return image->read(at, out); };
    const CodeSymbols symbols(file);
    const std::string name = symbols.soname();
    if (name != "libc.so.6" && name != "libpthread.so.0") return false;
    library.bias = *bias;
    std::uint64_t index_address = 0;
    library.index_bytes = symbols.index_bytes(index_address);
    library.index = FunctionIndex(library.index_bytes, index_address);
    for (const CodeSymbols::Table& table : symbols.tables()) {
        if (!library.exported.empty()) break;  // .dynsym has them
        symbols.for_each_function(table, [&](const Elf64_Sym& symbol) {
            const LockFunction function = function_named(symbols.text(table.strings + symbol.st_name));
            if (function != LockFunction::none)
                library.exported[symbol.st_value] = {symbol.st_value + symbol.st_size, function};
            return true;
        });
    }
    return true;
}

LockFunctions::Library* LockFunctions::library_of(std::uint32_t region_id, std::uint64_t address) {
    constexpr std::size_t most = 1024;  // a library that is opened again and again has a new region each time
    if (libraries_.size() == most && !libraries_.contains(region_id)) libraries_.clear();
    const auto [known, is_new] = libraries_.try_emplace(region_id);
    Library& library = known->second;
    const CodeRegion* const region = is_new ? map_.find(address) : nullptr;
    if (region != nullptr && region->kind == RegionKind::file && !read(*region, library)) library.exported.clear();
    return library.exported.empty() ? nullptr : &library;
}

// pthread_mutex_lock goes on in a function without a name for kinds that are rare, and so do those that have a time
// limit: by a jump, so that no frame of the named one is left.
LockFunction LockFunctions::function_at(Library& library, std::uint64_t address) {
    const auto after = library.exported.upper_bound(address);
    if (after != library.exported.begin()) {
        const auto& [start, entry] = *std::prev(after);
        if (address < entry.end) return entry.function;
    }
    const std::uint64_t start = library.index.start_of(address);
    if (start == 0) return LockFunction::none;
    const auto [known, is_new] = library.known.try_emplace(start, LockFunction::none);
    if (!is_new) return known->second;
    for (const auto& [from, entry] : library.exported) {
        if (entry.function != LockFunction::mutex) continue;
        std::vector<std::byte> code(entry.end - from);
        code.resize(read_self(library.bias + from, code));
        if (jumps_to(code, library.bias + from, library.bias + start)) known->second = entry.function;
    }
    return known->second;
}

LockFunction LockFunctions::of(std::span<const CodeFrame> frames) {
    if (frames.empty() || frames[0].region == CodeFrame::no_region) return LockFunction::none;
    Library* const library = library_of(frames[0].region, frames[0].address);
    if (library == nullptr) return LockFunction::none;
    for (std::size_t at = 0; at < std::min(frames.size(), most_frames) && frames[at].region == frames[0].region; ++at) {
        const LockFunction function = function_at(*library, frames[at].address - library->bias);
        // The condition has a lock of its own too, for which its own function waits.
        if (function == LockFunction::condition && at != condition_frame) return LockFunction::none;
        if (function != LockFunction::none) return function;
    }
    return LockFunction::none;
}

}  // namespace flameprobe
