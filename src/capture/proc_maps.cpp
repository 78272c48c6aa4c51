#include "capture/proc_maps.hpp"

#include <sys/sysmacros.h>

#include <cstdio>
#include <cstring>

#include "base/proc.hpp"

namespace flameprobe {
namespace {

// "start-end perms offset major:minor inode   path" (proc(5)).
bool parse_line(std::string_view line, RawMapping& out) {
    unsigned long long start = 0, end = 0, offset = 0, inode = 0;
    unsigned major = 0, minor = 0;
    char permissions[5] = {};
    int consumed = 0;
    const std::string copy(line.substr(0, 160));
    if (std::sscanf(copy.c_str(), "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, permissions, &offset, &major, &minor,
                    &inode, &consumed) != 7) {
        return false;
    }
    if (std::strchr(permissions, 'x') == nullptr) return false;
    auto path = line.substr(static_cast<std::size_t>(consumed));
    path.remove_prefix(std::min(path.find_first_not_of(' '), path.size()));
    out = {.start = start,
           .size = end - start,
           .file_offset = offset,
           .device = makedev(major, minor),
           .inode = inode,
           .path = path,
           .build_id = {}};
    return true;
}

}  // namespace

Result<ProcMaps> read_proc_maps() {
    auto text = read_small_file("/proc/thread-self/maps");
    if (!text) return Error{"/proc/thread-self/maps cannot be read: is /proc mounted?"};
    ProcMaps maps;
    maps.text = std::move(*text);
    const std::string_view all = maps.text;
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        RawMapping mapping;
        if (parse_line(all.substr(at, end - at), mapping)) maps.mappings.push_back(mapping);
        at = end + 1;
    }
    return maps;
}

}  // namespace flameprobe
