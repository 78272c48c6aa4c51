#include "unwind/code_map.hpp"

#include <string_view>

#include "base/paths.hpp"
#include "capture/record.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

bool is_without_file(std::string_view path) {
    return path.empty() || path.starts_with('[') || path == "//anon" || path == "/anon_hugepage" ||
           path == "/dev/zero" || path.starts_with("/SYSV");
}

// Just-in-time compilers write into shared memory, too (PHP's, .NET's), which the kernel shows as files: shared
// anonymous memory as /dev/zero, System V's as /SYSV, and memfd's, which may also hold a library. Of a memfd with
// thousands of regions one is read.
bool holds_no_file(const CodeRegion& region, const CodeMap& known) {
    if (is_without_file(region.path)) return true;
    if (!region.path.starts_with("/memfd:")) return false;
    const CodeRegion* const before = known.before(region.start);
    if (before != nullptr && before->inode == region.inode && before->device == region.device)
        return before->kind == RegionKind::anonymous;
    return !ElfImage::from_memory(region).has_value();
}

}  // namespace

CodeRegion region_of(const RawMapping& mapping, const CodeMap& known) {
    CodeRegion region;
    region.start = mapping.start;
    region.end = mapping.start + mapping.size;
    region.file_offset = mapping.file_offset;
    region.device = mapping.device;
    region.inode = mapping.inode;
    region.build_id = mapping.build_id;
    region.path = without_deleted(mapping.path);
    region.kind = region.path == "[vdso]" ? RegionKind::vdso : RegionKind::file;
    if (region.kind != RegionKind::file || !holds_no_file(region, known)) return region;
    region.kind = RegionKind::anonymous;
    if (!region.path.starts_with('[')) region.path.clear();
    // Programs move their code to huge pages. It may not be there yet: then a later change of the memory's permissions
    // is told too.
    region.file = known.file_below(region);
    if (region.file == nullptr || !ElfImage::holds_code_of(*region.file)) return region;
    return CodeRegion(*region.file);
}

}  // namespace flameprobe
