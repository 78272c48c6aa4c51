#include "symbolize/debuginfod.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace flameprobe {

namespace {

// The client library (elfutils/debuginfod.h) is opened only when it is asked for: it brings libcurl with it.
struct Client;
using Progress = int (*)(Client*, long, long);

struct Library {
    void* handle;
    Client* (*begin)();
    void (*end)(Client*);
    int (*find_debuginfo)(Client*, const unsigned char*, int, char**);
    void (*set_progress)(Client*, Progress);
};

template <class Function>
bool bind(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
}

Result<Library> open_library() {
    void* handle = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        return Error{"debuginfod cannot be asked: libdebuginfod.so.1 is not installed (Debian: libdebuginfod1)"};
    Library library{};
    library.handle = handle;
    if (bind(handle, "debuginfod_begin", library.begin) && bind(handle, "debuginfod_end", library.end) &&
        bind(handle, "debuginfod_find_debuginfo", library.find_debuginfo) &&
        bind(handle, "debuginfod_set_progressfn", library.set_progress))
        return library;
    return Error{"debuginfod cannot be asked: libdebuginfod.so.1 is too old"};
}

}  // namespace

Result<std::string> fetch_debug_file(const std::string& build_id, std::chrono::steady_clock::time_point until) {
    const char* servers = std::getenv("DEBUGINFOD_URLS");
    if (servers == nullptr || *servers == '\0')
        return Error{
            "debuginfod cannot be asked: DEBUGINFOD_URLS is not set (for Debian: https://debuginfod.debian.net)"};
    const auto late = [&] { return std::chrono::steady_clock::now() > until; };
    const Error too_late{"debuginfod did not answer in time; what it had not sent yet is missing (--debuginfod=TIME)"};
    if (late()) return too_late;
    // Never closed again: libcurl does not support that.
    const auto library = open_library();
    if (!library) return library.error();
    const std::unique_ptr<Client, void (*)(Client*)> client(library->begin(), library->end);
    if (!client) return Error{"debuginfod cannot be asked: its client does not start"};

    // The callback runs on this thread, inside find_debuginfo, and has no parameter for data of ours.
    thread_local std::chrono::steady_clock::time_point end;
    end = until;
    library->set_progress(client.get(), [](Client*, long, long) {
        return std::chrono::steady_clock::now() > end ? 1 : 0;  // 1: give up
    });
    char* path = nullptr;
    const int file = library->find_debuginfo(client.get(), reinterpret_cast<const unsigned char*>(build_id.data()),
                                             static_cast<int>(build_id.size()), &path);
    const std::unique_ptr<char, void (*)(void*)> owner(path, std::free);
    if (file >= 0) {
        ::close(file);
        return std::string(path);
    }
    if (late()) return too_late;
    if (file == -ENOENT) return std::string{};
    return Error{std::string("debuginfod gave no answer: ") + std::strerror(-file)};
}

}  // namespace flameprobe
