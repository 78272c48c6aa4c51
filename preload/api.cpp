// The public interface in C (flameprobe/flameprobe.h).
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "flameprobe/flameprobe.h"
#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

constexpr size_t message_size = sizeof(flameprobe_error::message);

int tell(flameprobe_error* error, int code, const char* message) {
    constexpr size_t head = offsetof(flameprobe_error, message);
    if (error == nullptr || error->size <= head) return code;
    error->code = code;
    ::snprintf(error->message, error->size < sizeof *error ? error->size - head : message_size, "%s", message);
    return code;
}

int unavailable(flameprobe_error* error) {
    return tell(error, FLAMEPROBE_UNAVAILABLE,
                "libflameprobe-core.so cannot be loaded: is it installed beside libflameprobe.so?");
}

constexpr const char* no_size = "flameprobe_options::size is not set: initialise with FLAMEPROBE_OPTIONS_INIT";
constexpr const char* newer = "flameprobe_options has fields set that this version of the library does not know";

/// Copies the options that the caller's header knew; others stay as the environment sets them. Fields that this library
/// does not know are accepted if they are empty. Gives what is wrong, or null.
const char* known_options(const flameprobe_options& given, flameprobe_options& known) {
    constexpr size_t least = offsetof(flameprobe_options, output), most = 4096;
    if (given.size < least || given.size > most || given.size % sizeof(void*) != 0) return no_size;
    const char* bytes = reinterpret_cast<const char*>(&given);
    for (size_t at = sizeof known; at < given.size; ++at) {
        if (bytes[at] != 0) return newer;
    }
    known = {};
    ::memcpy(&known, bytes, given.size < sizeof known ? given.size : sizeof known);
    return nullptr;
}

/// The environment's lines, then the options', which override them.
class Lines {
public:
    explicit Lines(const flameprobe_options& options) {
        const Environment& settings = environment_at_load();
        for (; count_ < settings.count; ++count_) lines_[count_] = settings.lines[count_];
        before_ = count_;
#define FLAMEPROBE_FIELD_(name, variable) add_number(#variable, options.name);
        FLAMEPROBE_NUMBER_OPTIONS(FLAMEPROBE_FIELD_)
#undef FLAMEPROBE_FIELD_
#define FLAMEPROBE_FIELD_(name, variable) add(#variable, options.name);
        FLAMEPROBE_TEXT_OPTIONS(FLAMEPROBE_FIELD_)
#undef FLAMEPROBE_FIELD_
    }
    const char* const* data() const { return lines_; }
    size_t count() const { return count_; }
    size_t given() const { return count_ - before_; }
    bool fit() const { return fit_; }

private:
    void add_number(const char* name, uint32_t value) {
        if (value == 0) return;
        char text[24];
        ::snprintf(text, sizeof text, "%u", value);
        add(name, text);
    }
    void add(const char* name, const char* value) {
        if (value == nullptr) return;
        char* place = text_ + used_;
        const int length = ::snprintf(place, sizeof text_ - used_, "FLAMEPROBE_%s=%s", name, value);
        if (length < 0 || static_cast<size_t>(length) >= sizeof text_ - used_) {
            fit_ = false;
            return;
        }
        used_ += static_cast<size_t>(length) + 1;
        lines_[count_++] = place;
    }

    static constexpr size_t fields = (sizeof(flameprobe_options) - sizeof(size_t)) / sizeof(uint32_t);  // at most
    const char* lines_[Environment::most + fields];
    size_t count_ = 0, before_ = 0;
    char text_[8192];
    size_t used_ = 0;
    bool fit_ = true;
};

// Where a thread has the chain of scopes that the program's modules share, from its thread pointer. Asked for by name:
// the dynamic linker takes any symbol of that name for thread storage, and a program may export a function.
constinit ptrdiff_t chain_offset = 0;

__attribute__((constructor(101))) void find_chain() {
    const void* found = ::dlsym(RTLD_DEFAULT, "flameprobe_chain_v1");
    if (found == nullptr) ::dlerror();  // the host's next question is not answered by ours
    Dl_info in_file{};                  // as thread storage is not
    if (found == nullptr || ::dladdr(found, &in_file) != 0) found = &flameprobe_chain_v1;
    chain_offset = static_cast<const char*>(found) - static_cast<const char*>(__builtin_thread_pointer());
}

/// While it lives, this library's chain is the program's.
class ProgramsChain {
public:
    ProgramsChain()
        : chain_(*reinterpret_cast<uintptr_t*>(static_cast<char*>(__builtin_thread_pointer()) + chain_offset)) {
        flameprobe_chain_v1 = chain_;
    }
    ~ProgramsChain() { chain_ = flameprobe_chain_v1; }
    ProgramsChain(const ProgramsChain&) = delete;

private:
    uintptr_t& chain_;
};

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int flameprobe_start(const flameprobe_options* options, flameprobe_error* error) {
    flameprobe_options known{};
    if (options != nullptr) {
        if (const char* problem = known_options(*options, known)) return tell(error, FLAMEPROBE_BAD_OPTION, problem);
    }
    const Lines lines(known);
    if (!lines.fit()) return tell(error, FLAMEPROBE_BAD_OPTION, "the options are longer than 8 KiB");
    const flameprobe_core* core = flameprobe::core();
    if (core == nullptr) return unavailable(error);
    watch_fatal_signals();
    char message[message_size] = "";
    return tell(error, core->start(lines.data(), lines.count(), lines.given(), message, sizeof message), message);
}

FLAMEPROBE_INTERPOSED int flameprobe_stop(flameprobe_error* error) {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return tell(error, FLAMEPROBE_NOT_RUNNING, "nothing is being sampled");
    char message[message_size] = "";
    return tell(error, core->stop(message, sizeof message), message);
}

FLAMEPROBE_INTERPOSED int flameprobe_dump(const char* path, flameprobe_error* error) {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return tell(error, FLAMEPROBE_NOT_RUNNING, "nothing has been sampled");
    char message[message_size] = "";
    return tell(error, core->dump(path, message, sizeof message), message);
}

FLAMEPROBE_INTERPOSED int flameprobe_is_running() {
    const flameprobe_core* core = core_if_loaded();
    return core == nullptr ? 0 : core->is_running();
}

FLAMEPROBE_INTERPOSED const char* flameprobe_version() { return FLAMEPROBE_VERSION; }

FLAMEPROBE_INTERPOSED void flameprobe_scope_open(flameprobe_scope* scope, const char* label) {
    const ProgramsChain chain;
    flameprobe_scope_enter_at_(scope, label, reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1);
}

FLAMEPROBE_INTERPOSED void flameprobe_scope_close(flameprobe_scope* scope) {
    const ProgramsChain chain;
    flameprobe_scope_leave(scope);
}

FLAMEPROBE_INTERPOSED __attribute__((noinline)) void flameprobe_scope_call(const char* label, void (*body)(void*),
                                                                           void* argument) {
    flameprobe_scope scope;
    {
        const ProgramsChain chain;
        flameprobe_scope_enter(&scope, label);
    }
    body(argument);
    flameprobe_scope_close(&scope);
}

FLAMEPROBE_INTERPOSED const char* flameprobe_label(const char* text) { return flameprobe_intern(text, ::strlen(text)); }

FLAMEPROBE_INTERPOSED const char* flameprobe_label_pair(const char* key, const char* value) {
    return flameprobe_intern_pair(key, ::strlen(key), value, ::strlen(value));
}
