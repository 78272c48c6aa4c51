#include "preload_path.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "installed_file.hpp"

namespace flameprobe {

Result<std::string> find_library() { return installed_file("libflameprobe.so", "../../preload/libflameprobe.so"); }

Result<std::string> libraries_to_preload(std::string library, bool allocations) {
    if (library.empty()) {
        const auto own = find_library();
        if (!own) return Error{own.error().message + "; name it with --library"};
        library = *own;
    }
    // ld.so(8) searches for a name without a slash.
    if (library.find('/') != std::string::npos && ::access(library.c_str(), R_OK) != 0)
        return Error{"--library: " + library + ": " + error_text(errno)};
    if (!allocations) return library;
    const std::string folder = library.substr(0, library.rfind('/') + 1);
    for (const char* place : {"flameprobe/", "alloc/", ""})
        if (const std::string path = folder + place + "libflameprobe-alloc.so"; ::access(path.c_str(), R_OK) == 0)
            return library + ":" + path;
    return Error{"libflameprobe-alloc.so, which -e alloc and heap need, is not beside " + library};
}

std::string preload_with(const std::string& library) {
    const char* before = getenv("LD_PRELOAD");
    return before == nullptr || *before == '\0' ? library : library + ":" + before;
}

}  // namespace flameprobe
