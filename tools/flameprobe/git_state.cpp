#include "git_state.hpp"

#include "output_of.hpp"

namespace flameprobe {

std::string dirty_text() {
    if (output_of({"git", "rev-parse", "HEAD"}).empty()) return "not known";
    return output_of({"git", "status", "--porcelain", "--untracked-files=no"}).empty() ? "no" : "yes";
}

}  // namespace flameprobe
