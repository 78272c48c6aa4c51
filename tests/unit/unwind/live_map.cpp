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
    // A page an element: a partial transfer ends between elements (process_vm_readv(2)).
    std::vector<iovec> pages;
    for (std::size_t done = 0; done < size; done += pages.back().iov_len) {
        const std::size_t piece = std::min<std::size_t>(size - done, 4096 - (address + done) % 4096);
        pages.push_back({reinterpret_cast<void*>(address + done), piece});
    }
    const iovec local{out.data(), size};
    const ssize_t got = ::process_vm_readv(process, &local, 1, pages.data(), pages.size(), 0);
    out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return out;
}

}  // namespace flameprobe::testing
