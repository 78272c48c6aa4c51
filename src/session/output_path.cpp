#include "session/output_path.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace flameprobe {
namespace {

/// A program's name may hold anything but a slash; in names of files that people list, nothing that a terminal acts on.
/// Nor may it be so long that there is no room for what follows it: 255 bytes are a file's name.
std::string in_file_name(std::string name) {
    constexpr std::size_t most_bytes = 128;
    std::size_t end = std::min(name.size(), most_bytes);
    while (end < name.size() && end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
    name.resize(end);
    std::replace_if(
        name.begin(), name.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; }, '_');
    return name;
}

}  // namespace

std::string whole_template(std::string_view out) { return std::string(out) + (out.ends_with('/') ? default_out : ""); }

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
                path += in_file_name(facts.executable);
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

std::string unused_stem(const std::string& stem, const std::vector<Format>& formats, const OlderResults& older) {
    const auto in_use = [&](const std::string& candidate) {
        return std::any_of(formats.begin(), formats.end(), [&](Format format) {
            struct stat found {};
            const std::string path = candidate + std::string(ending_of(format));
            return ::lstat(path.c_str(), &found) == 0 && (older.keep || is_later(found.st_mtim, older.run_start));
        });
    };
    std::string candidate = stem;
    for (unsigned number = 2; in_use(candidate) && number < 100000; ++number)
        candidate = stem + "." + std::to_string(number);
    return candidate;
}

}  // namespace flameprobe
