#include "collect/mapped_code.hpp"

#include <string_view>
#include <utility>

#include "base/base_name.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

bool is_without_file(std::string_view path) {
    return path.empty() || path.starts_with('[') || path == "//anon" || path == "/anon_hugepage" ||
           path == "/dev/zero" || path.starts_with("/SYSV");
}

// Just-in-time compilers write into shared memory, too (PHP's, .NET's), which the kernel shows as files: shared
// anonymous memory as /dev/zero, System V's as /SYSV, and memfd's, which may also hold a library.
bool holds_no_file(const CodeRegion& region) {
    return is_without_file(region.path) ||
           (region.path.starts_with("/memfd:") && !ElfImage::from_memory(region).has_value());
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
    if (region.kind != RegionKind::file || !holds_no_file(region)) return region;
    region.kind = RegionKind::anonymous;
    if (!region.path.starts_with('[')) region.path.clear();
    // Programs move their code to huge pages. It may not be there yet: then a later change of the memory's permissions
    // is told too.
    region.file = known.file_below(region);
    if (region.file == nullptr || !ElfImage::holds_code_of(*region.file)) return region;
    return CodeRegion(*region.file);
}

}  // namespace flameprobe
