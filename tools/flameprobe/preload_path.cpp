#include "preload_path.hpp"

#include <cstdlib>

#include "installed_file.hpp"

namespace flameprobe {

Result<std::string> find_library() {
    auto path = installed_file("libflameprobe.so", "../../preload/libflameprobe.so");
    if (!path) return Error{path.error().message + "; name it with --library"};
    return path;
}

std::string preload_with(const std::string& library) {
    const char* before = getenv("LD_PRELOAD");
    return before == nullptr || *before == '\0' ? library : library + ":" + before;
}

}  // namespace flameprobe
