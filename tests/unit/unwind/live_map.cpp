#include "live_map.hpp"

#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace flameprobe::testing {

void add_own_mappings(CodeMap& map) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long start = 0, end = 0, offset = 0, inode = 0;
        unsigned major = 0, minor = 0;
        char access[5] = {};
        int path = 0;
        // proc(5): address range, access, offset, device, inode, path
        if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, access, &offset, &major, &minor,
                        &inode, &path) != 7 ||
            access[2] != 'x')
            continue;
        CodeRegion region;
        region.start = start;
        region.end = end;
        region.file_offset = offset;
        region.device = makedev(major, minor);
        region.inode = inode;
        region.path = line.substr(static_cast<std::size_t>(path));
        region.kind = region.path == "[vdso]"                             ? RegionKind::vdso
                      : region.path.empty() || region.path.front() != '/' ? RegionKind::anonymous
                                                                          : RegionKind::file;
        if (region.path != "[vsyscall]") map.add(region);
    }
}

std::vector<std::byte> read_process(pid_t process, std::uint64_t address, std::size_t size) {
    std::vector<std::byte> out(size);
    std::size_t done = 0;
    while (done < size) {
        const std::size_t piece = std::min<std::size_t>(size - done, 4096 - (address + done) % 4096);
        iovec local{out.data() + done, piece};
        iovec remote{reinterpret_cast<void*>(address + done), piece};
        if (::process_vm_readv(process, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(piece)) break;
        done += piece;
    }
    out.resize(done);
    return out;
}

}  // namespace flameprobe::testing
