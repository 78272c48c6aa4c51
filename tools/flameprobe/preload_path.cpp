#include "preload_path.hpp"

#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace flameprobe {

namespace {

std::string own_directory() {
    char path[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    if (size <= 0) return {};
    const std::string own(path, static_cast<std::size_t>(size));
    return own.substr(0, own.rfind('/'));
}

}  // namespace

Result<std::string> find_library() {
    const std::string own = own_directory(), bin = "/" FLAMEPROBE_BINDIR, name = "/libflameprobe.so";
    std::string looked;
    const auto there = [&looked](const std::string& path) {
        looked += (looked.empty() ? "" : ", ") + path;
        return access(path.c_str(), R_OK) == 0;
    };
    if (own.ends_with(bin)) {  // also where the whole prefix was moved
        const std::string path = own.substr(0, own.size() - bin.size()) + "/" FLAMEPROBE_LIBDIR + name;
        if (there(path)) return path;
    }
    if (const std::string path = own + "/../../preload" + name; there(path)) {
        char real[PATH_MAX];
        return std::string(realpath(path.c_str(), real) != nullptr ? real : path.c_str());
    }
    if (const std::string path = FLAMEPROBE_PREFIX "/" FLAMEPROBE_LIBDIR + name; there(path)) return path;
    return Error{"libflameprobe.so is not installed beside this program (looked for " + looked +
                 "); name it with --library"};
}

std::string preload_with(const std::string& library) {
    const char* before = getenv("LD_PRELOAD");
    return before == nullptr || *before == '\0' ? library : library + ":" + before;
}

}  // namespace flameprobe
