#include "live_map.hpp"

#include <sys/uio.h>

#include <algorithm>

#include "base/proc.hpp"
#include "base/proc_maps.hpp"

namespace flameprobe::testing {

void add_own_mappings(CodeMap& map) {
    // qemu-user shows the maps of the program that it emulates under this name only.
    const ProcMaps maps(read_small_file("/proc/self/maps").value_or(""));
    for (const MapsLine& line : maps.lines) {
        if (!line.executable || line.path == "[vsyscall]") continue;
        CodeRegion region;
        region.start = line.start;
        region.end = line.end;
        region.file_offset = line.offset;
        region.device = line.device;
        region.inode = line.inode;
        region.path = line.path;
        region.kind = region.path == "[vdso]"        ? RegionKind::vdso
                      : region.path.starts_with('/') ? RegionKind::file
                                                     : RegionKind::anonymous;
        map.add(region);
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
