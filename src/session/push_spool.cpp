#include "session/push_spool.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "base/hash.hpp"

namespace flameprobe {

namespace {

std::string pattern_of(const std::string& directory, const char* name) {
    std::string pattern;
    for (const char c : directory) pattern += c == '%' ? std::string("%%") : std::string(1, c);
    return pattern + name;
}

}  // namespace

std::string window_pattern(const std::string& directory) { return pattern_of(directory, "/.%e.%p.%t.%n"); }
std::string finished_pattern(const std::string& directory) { return pattern_of(directory, "/%e.%p.%t.%n"); }

std::string prepare_spool(const std::string& directory) {
    const std::string refusal = "nothing is sampled: FLAMEPROBE_PUSH=" + directory + " ";
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        return refusal + "cannot be created: " + std::strerror(errno);
    struct stat status {};
    if (::lstat(directory.c_str(), &status) != 0) return refusal + "cannot be used: " + std::strerror(errno);
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
    ::rename(path.c_str(), (path.substr(0, name) + path.substr(name + 1)).c_str());
}

}  // namespace flameprobe
