#include "base/place.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/proc.hpp"

namespace flameprobe {

namespace {

std::string device_and_inode(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    return std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
}

}  // namespace

std::string place_of(const std::string& process) {
    std::string boot = read_small_file("/proc/sys/kernel/random/boot_id").value_or("");
    boot.resize(std::min(boot.find('\n'), boot.size()));
    const std::string mounts = device_and_inode(process + "/ns/mnt"), root = device_and_inode(process + "/root/.");
    if (boot.empty() || mounts.empty() || root.empty()) return {};
    return boot + ' ' + mounts + ' ' + root;
}

bool same_boot(const std::string& one, const std::string& other) {
    const auto boot = [](const std::string& place) { return place.substr(0, place.find(' ')); };
    return !one.empty() && boot(one) == boot(other);
}

}  // namespace flameprobe
