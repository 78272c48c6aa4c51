#include "symbolize/debug_file.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/byte_reader.hpp"
#include "base/debug_link.hpp"
#include "base/paths.hpp"

namespace flameprobe {

namespace {

std::unique_ptr<ElfFile> open_with_build_id(const std::string& path, const std::string& build_id, int root) {
    auto file = ElfFile::open(path, root);
    if (!file || (*file)->build_id() != build_id) return nullptr;
    return std::move(*file);
}

bool leads_to(const DebugLink& link, const FileBytes& file) {
    return link.leads_to([&](std::uint64_t at, std::span<std::byte> out) {
        const std::span<std::byte> there = out.first(std::min<std::uint64_t>(out.size(), file.size() - at));
        return file.read_into(at, there) ? there.size() : 0;
    });
}

}  // namespace

std::unique_ptr<ElfFile> find_by_build_id(const std::string& build_id, const DebugFileSearch& search) {
    if (build_id.size() < 2) return nullptr;
    for (const std::string& directory : search.directories)
        if (auto file = open_with_build_id(debug_path_by_id(directory, build_id), build_id, search.root)) return file;
    return nullptr;
}

std::unique_ptr<ElfFile> find_by_debuglink(const ElfFile& file, const DebugFileSearch& search) {
    const DebugLink link = DebugLink::in(as_text(file.contents(".gnu_debuglink")));
    for (const std::string& path : link.places(file.path(), search.directories)) {
        auto found = ElfFile::open(path, search.root);
        if (!found) continue;
        const std::string &theirs = (*found)->build_id(), &ours = file.build_id();
        if (!theirs.empty() && !ours.empty() && theirs != ours) continue;
        if (leads_to(link, (*found)->bytes())) return std::move(*found);
    }
    return nullptr;
}

std::unique_ptr<ElfFile> find_alternate(const ElfFile& file, const DebugFileSearch& search) {
    const Bytes link = file.contents(".gnu_debugaltlink");
    ByteReader cursor(link);
    const std::string name(cursor.text());
    if (!cursor.ok() || name.empty()) return nullptr;
    const std::string build_id(as_text(link.subspan(cursor.position())));

    if (auto found = find_by_build_id(build_id, search)) return found;
    if (name.starts_with('/')) return open_with_build_id(name, build_id, search.root);
    return open_with_build_id(std::string(directory_of(file.path())) + name, build_id, search.root);
}

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
    return Error{"debuginfod gave no answer: " + error_text(-file)};
}

}  // namespace flameprobe
