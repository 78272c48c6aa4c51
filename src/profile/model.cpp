#include "profile/model.hpp"

namespace flameprobe {

// The last word of "Linux 6.1.0-50-arm64 aarch64".
std::string architecture(const RunInfo& run) {
    for (const RunFact& fact : run.facts) {
        const std::size_t space = fact.name == "kernel" ? fact.value.rfind(' ') : std::string::npos;
        if (space != std::string::npos && fact.value.starts_with("Linux ")) return fact.value.substr(space + 1);
    }
    return {};
}

}  // namespace flameprobe
