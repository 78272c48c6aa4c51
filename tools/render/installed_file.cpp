#include "installed_file.hpp"

#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/proc.hpp"

namespace flameprobe {

namespace {

std::string own_directory() {
    const std::string own = link_target("/proc/self/exe");
    return own.substr(0, own.rfind('/'));
}

Result<std::string> (*other_source)(const std::string& name) = nullptr;

}  // namespace

void take_installed_files_from(Result<std::string> (*source)(const std::string& name)) { other_source = source; }

Result<std::string> installed_file(const std::string& name, const std::string& built) {
    if (other_source != nullptr) return other_source(name);
    const std::string own = own_directory(), bin = "/" FLAMEPROBE_BINDIR,
                      in_libraries = "/" FLAMEPROBE_LIBDIR "/" + name;
    std::string looked;
    const auto there = [&looked](const std::string& path) {
        looked += (looked.empty() ? "" : ", ") + path;
        return access(path.c_str(), R_OK) == 0;
    };
    if (own.ends_with(bin)) {  // also where the whole prefix was moved
        const std::string path = own.substr(0, own.size() - bin.size()) + in_libraries;
        if (there(path)) return path;
    }
    if (const std::string path = own + "/" + built; there(path)) {
        char real[PATH_MAX];
        return std::string(realpath(path.c_str(), real) != nullptr ? real : path.c_str());
    }
    if (const std::string path = FLAMEPROBE_PREFIX + in_libraries; there(path)) return path;
    return Error{name.substr(name.rfind('/') + 1) + " is not installed beside this program (looked for " + looked +
                 ")"};
}

}  // namespace flameprobe
