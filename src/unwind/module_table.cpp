#include "unwind/module_table.hpp"

#include <unordered_set>

namespace flameprobe {

ModuleTable::Tables ModuleTable::find(const CodeRegion& region) {
    const auto known = regions_.find(region.id);
    const Module& module =
        known != regions_.end() ? known->second : regions_.emplace(region.id, open(region)).first->second;
    return {module.cfi.get(), module.bias};
}

ModuleTable::Module ModuleTable::open(const CodeRegion& region) {
    if (region.kind == RegionKind::anonymous) return {};
    const FileKey key(region.path, region.build_id, region.device, region.inode);
    if (const auto shared = files_[key].lock(); shared && !shared->image().in_memory())
        if (const auto bias = shared->image().bias(region)) return {shared, *bias};
    auto image = ElfImage::from_file(region);
    const bool from_file = image.has_value();
    if (!image) image = ElfImage::from_memory(region);
    if (!image) return {};
    const auto bias = image->bias(region);
    if (!bias) return {};
    const auto tables = std::make_shared<CfiTables>(std::move(*image));
    if (from_file) files_[key] = tables;
    return {tables, *bias};
}

void ModuleTable::close_files() {
    regions_.clear();
    files_.clear();
}

void ModuleTable::forget_all_but(const CodeMap& map) {
    std::unordered_set<std::uint32_t> alive;
    for (const auto& region : map.regions()) alive.insert(region->id);
    std::erase_if(regions_, [&](const auto& entry) { return !alive.contains(entry.first); });
    std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
}

}  // namespace flameprobe
