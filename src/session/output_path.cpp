#include "session/output_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/output_directory.hpp"
#include "base/result.hpp"

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

std::string pattern_of(const std::string& directory, const char* name) {
    std::string pattern;
    for (const char c : directory) pattern += c == '%' ? std::string("%%") : std::string(1, c);
    return pattern + name;
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
            return ::lstat(path.c_str(), &found) == 0 && !older.give_way(found);
        });
    };
    unsigned number = 1;
    while (in_use(numbered(stem, number)) && number < 100000) ++number;
    return numbered(stem, number);
}

std::string window_pattern(const std::string& directory) { return pattern_of(directory, "/.%e.%p.%t.%n"); }
std::string finished_pattern(const std::string& directory) { return pattern_of(directory, "/%e.%p.%t.%n"); }

std::string prepare_spool(const std::string& directory) {
    const std::string refusal = "nothing is sampled: FLAMEPROBE_PUSH=" + directory + " ";
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        return refusal + "cannot be created: " + error_text(errno);
    struct stat status {};
    if (::lstat(directory.c_str(), &status) != 0) return refusal + "cannot be used: " + error_text(errno);
    if (!S_ISDIR(status.st_mode)) return refusal + "is no directory";
    const bool shared = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (shared && (status.st_mode & S_ISVTX) == 0)
        return refusal + "lets other users rename files: chmod 700 it, or 1770 for a group";
    if (!shared && status.st_uid != ::geteuid() && ::geteuid() == 0) return refusal + "belongs to another user";
    return {};
}

std::uint64_t first_window_ns(std::uint64_t every_ns) {
    const std::uint64_t seed = monotonic_ns() ^ static_cast<std::uint64_t>(::getpid()) << 32;
    return 1 + splitmix64(seed) % every_ns;
}

void publish_window(const std::string& path) {
    const auto name = path.rfind('/') + 1;
    if (path[name] != '.') return;
    if (const auto directory = OutputDirectory::of(path)) directory->rename(path.substr(name), path.substr(name + 1));
}

}  // namespace flameprobe
