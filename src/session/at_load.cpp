#include "session/at_load.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>

namespace flameprobe {
namespace {

std::string own_directory() {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&at_load), &info) == 0 || info.dli_fname == nullptr) return {};
    const std::string path = info.dli_fname;
    return path.rfind('/') == path.npos ? std::string() : path.substr(0, path.rfind('/'));
}

AtLoad read() {
    AtLoad found;
    for (const char* const name :
         {"LD_PRELOAD", "FLAMEPROBE_DIRTY", "HOME", "XDG_CACHE_HOME", "DEBUGINFOD_CACHE_PATH", "LANG", "LC_ALL"})
        if (const char* const value = ::getenv(name)) found.variables.emplace_back(name, value);
    found.core_directory = own_directory();
    return found;
}

}  // namespace

const std::string* AtLoad::variable(std::string_view name) const {
    const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.first == name; });
    return found == variables.end() ? nullptr : &found->second;
}

// No destructor: the collector outlives the host's.
const AtLoad& at_load() {
    static const AtLoad* const found = new AtLoad(read());
    return *found;
}

}  // namespace flameprobe
