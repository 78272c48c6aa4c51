// C++'s operators new and delete. Those of the C++ library call malloc and free, where they count; an allocator may
// have its own, which do not.
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "counting.hpp"
#include "interpose.hpp"

using namespace flameprobe::alloc;

namespace flameprobe::alloc {
namespace {

/// One operator of the next library, looked up at its first call.
class Operator {
public:
    constexpr explicit Operator(const char* name) : name_(name) {}

    template <class Function>
    Function* function() noexcept {
        void* found = __atomic_load_n(&found_, __ATOMIC_RELAXED);
        if (__builtin_expect(found == nullptr, 0)) found = look_up();
        return reinterpret_cast<Function*>(found);
    }

    bool is_known() const noexcept { return __atomic_load_n(&found_, __ATOMIC_RELAXED) != nullptr; }
    template <class Function>
    Function* known() const noexcept {
        return reinterpret_cast<Function*>(__atomic_load_n(&found_, __ATOMIC_RELAXED));
    }

    /// Whether it calls malloc, or one of its relatives, where the allocation counts. The first call tells.
    enum Way : int { unknown, calls_malloc, by_itself };
    Way way() const noexcept { return __atomic_load_n(&way_, __ATOMIC_RELAXED); }
    void learn(Way way) noexcept { __atomic_store_n(&way_, way, __ATOMIC_RELAXED); }

    void* find() noexcept {
        alloc::look_up();
        return known_as(::dlsym(RTLD_NEXT, name_));
    }

private:
    void* look_up() noexcept {
        void* found = find();
        if (found == nullptr) found = known_as(find_out_of_sight(name_));
        return found != nullptr ? found : known_as(otherwise());
    }
    /// A program may call by a weak symbol what it is not linked with, since there is one now. Further arguments do
    /// not matter to C's functions.
    void* otherwise() const noexcept {
        if (name_[2] == 'd') return reinterpret_cast<void*>(next.free);
        if (strstr(name_, "align_val_t") == nullptr) return reinterpret_cast<void*>(next.malloc);
        return reinterpret_cast<void*>(+[](size_t size, size_t alignment) { return next.memalign(alignment, size); });
    }
    void* known_as(void* found) noexcept {
        if (found != nullptr) __atomic_store_n(&found_, found, __ATOMIC_RELAXED);
        return found;
    }

    const char* const name_;
    void* found_ = nullptr;
    Way way_ = unknown;
};

/// The operator may throw: what it makes is counted afterwards.
template <class... Arguments>
__attribute__((noinline)) void* make_counted(Operator& made_by, size_t size, Arguments... arguments) {
    const Record* const record = own_record;
    const uint64_t before = record != nullptr ? record->calls : 0;
    void* const address = made_by.function<void*(size_t, Arguments...)>()(size, arguments...);
    if (made_by.way() == Operator::unknown) {
        if (record == nullptr || record != own_record || is_exempt()) return address;
        made_by.learn(record->calls != before ? Operator::calls_malloc : Operator::by_itself);
    }
    if (made_by.way() == Operator::by_itself && address != nullptr && count(size)) counted(address, size);
    return address;
}

template <class... Arguments>
inline void* make(Operator& made_by, size_t size, Arguments... arguments) {
    if (__builtin_expect(made_by.way() != Operator::calls_malloc, 0)) return make_counted(made_by, size, arguments...);
    return made_by.known<void*(size_t, Arguments...)>()(size, arguments...);
}

template <class... Arguments>
__attribute__((noinline)) void remove_sampled(Operator& removed_by, void* address, Arguments... arguments) {
    if (asked_about.may_have(address)) {
        Leaving leaving(address);
        if (leaving.is_early) return;
        leaving.is_gone();
    }
    removed_by.function<void(void*, Arguments...)>()(address, arguments...);
}

template <class... Arguments>
inline void remove(Operator& removed_by, void* address, Arguments... arguments) {
    if (__builtin_expect(!removed_by.is_known() || asked_about.may_have(address), 0))
        return remove_sampled(removed_by, address, arguments...);
    removed_by.known<void(void*, Arguments...)>()(address, arguments...);
}

}  // namespace
}  // namespace flameprobe::alloc

// By their mangled names, since a definition in C++ may not be given another meaning by tail calls: `tag` stands for
// const std::nothrow_t&, `alignment` for std::align_val_t.
#define FLAMEPROBE_NEW(name, parameters, ...)    \
    static constinit Operator next##name(#name); \
    FLAMEPROBE_INTERPOSED void* name parameters { return make(next##name, __VA_ARGS__); }
#define FLAMEPROBE_DELETE(name, parameters, ...) \
    static constinit Operator next##name(#name); \
    FLAMEPROBE_INTERPOSED void name parameters { remove(next##name, __VA_ARGS__); }

#define FLAMEPROBE_OPERATORS(NEW, DELETE)                                                                           \
    NEW(_Znwm, (size_t size), size)                                                                                 \
    NEW(_Znam, (size_t size), size)                                                                                 \
    NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void* tag), size, tag)                                             \
    NEW(_ZnamRKSt9nothrow_t, (size_t size, const void* tag), size, tag)                                             \
    NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), size, alignment)                                     \
    NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), size, alignment)                                     \
    NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void* tag), size, alignment, tag) \
    NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void* tag), size, alignment, tag) \
    DELETE(_ZdlPv, (void* address), address)                                                                        \
    DELETE(_ZdaPv, (void* address), address)                                                                        \
    DELETE(_ZdlPvm, (void* address, size_t size), address, size)                                                    \
    DELETE(_ZdaPvm, (void* address, size_t size), address, size)                                                    \
    DELETE(_ZdlPvRKSt9nothrow_t, (void* address, const void* tag), address, tag)                                    \
    DELETE(_ZdaPvRKSt9nothrow_t, (void* address, const void* tag), address, tag)                                    \
    DELETE(_ZdlPvSt11align_val_t, (void* address, size_t alignment), address, alignment)                            \
    DELETE(_ZdaPvSt11align_val_t, (void* address, size_t alignment), address, alignment)                            \
    DELETE(_ZdlPvmSt11align_val_t, (void* address, size_t size, size_t alignment), address, size, alignment)        \
    DELETE(_ZdaPvmSt11align_val_t, (void* address, size_t size, size_t alignment), address, size, alignment)        \
    DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void* address, size_t alignment, const void* tag), address,        \
           alignment, tag)                                                                                          \
    DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void* address, size_t alignment, const void* tag), address,        \
           alignment, tag)
FLAMEPROBE_OPERATORS(FLAMEPROBE_NEW, FLAMEPROBE_DELETE)

// Looked up before there are threads, as far as the C++ library is there: dlsym takes a lock.
void flameprobe::alloc::look_up_operators() noexcept {
    if (next_Znwm.find() == nullptr) return;
#define FLAMEPROBE_FIND(name, ...) next##name.find();
    FLAMEPROBE_OPERATORS(FLAMEPROBE_FIND, FLAMEPROBE_FIND)
}
