#include "symbolize/function_starts.hpp"

#include <array>

namespace flameprobe {

FunctionStarts::FunctionStarts(const ElfFile& file)
    : file_(&file),
      index_(file.bytes().view(file.frame_index().offset, file.frame_index().file_size), file.frame_index().address) {}

std::optional<FunctionExtent> FunctionStarts::find(std::uint64_t address) const {
    const auto entry = index_.entry_of(address);
    if (!entry) return std::nullopt;
    const auto at = file_->offset_of(entry->description);
    std::array<std::byte, 16> description;
    if (!at || !file_->bytes().read_into(*at, description)) return std::nullopt;
    const auto extent = extent_of(description, entry->description, entry->start);
    return extent && address < extent->end ? extent : std::nullopt;
}

}  // namespace flameprobe
