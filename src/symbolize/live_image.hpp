// Files that this process has mapped, and that their path no longer leads to: deleted, replaced by an update, memfds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profile/model.hpp"

namespace flameprobe {

/// The bytes of the file behind a mapping of this process: whole through /proc/self/exe or, with CAP_SYS_ADMIN,
/// /proc/self/map_files; else what of it is mapped, put where it stands in the file, which has the dynamic symbols but
/// neither `.symtab` nor debug information. Nothing if it is not mapped any more. For SymbolizeOptions::read_image.
/// Thread-safe; not for signal handlers.
std::optional<std::string> read_live_image(const Mapping& mapping);

/// The last of these ways alone: what is mapped of the file around an address of this process.
std::optional<std::string> copy_mapped_parts(std::uint64_t address);

}  // namespace flameprobe
