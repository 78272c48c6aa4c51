#include "session/family.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace flameprobe {
namespace {

constexpr const char* variable = "FLAMEPROBE_ROOT";

}  // namespace

bool is_descendant() {
    const char* root = ::getenv(variable);
    return root != nullptr && std::to_string(::getpid()) != root;
}

void mark_descendants(const Options& options, bool complained) {
    const bool needed = !options.children || complained || options.out.find("%p") == std::string::npos;
    if (needed && ::getenv(variable) == nullptr) ::setenv(variable, std::to_string(::getpid()).c_str(), 0);
}

}  // namespace flameprobe
