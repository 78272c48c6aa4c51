#include "session/output_path.hpp"

namespace flameprobe {

std::string expand_path(std::string_view pattern, const PathFacts& facts, bool number) {
    std::string path;
    bool numbered = false;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] != '%' || at + 1 == pattern.size()) {
            path += pattern[at];
            continue;
        }
        switch (pattern[++at]) {
            case 'e':
                path += facts.executable;
                break;
            case 'p':
                path += std::to_string(facts.pid);
                break;
            case 't':
                path += std::to_string(facts.start_unix);
                break;
            case 'n':
                path += std::to_string(facts.dump);
                numbered = true;
                break;
            default:
                path += pattern[at];
                break;
        }
    }
    if (number && facts.dump != 0 && !numbered) path += "." + std::to_string(facts.dump);
    if (!path.starts_with('/')) path = facts.directory + "/" + path;
    return path;
}

}  // namespace flameprobe
