// Files that the host has mapped and that cannot be opened any more: deleted, replaced by an update, memfds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flameprobe {

/// The mapped parts, at their offsets in the file, of the one mapped at `address` from `path`: these have the dynamic
/// symbols but neither sections nor `.symtab`. Nothing if it is not mapped there. Not for signal handlers.
std::optional<std::string> copy_mapped_parts(std::uint64_t address, std::string_view path);

}  // namespace flameprobe
