// Files that the host has mapped and that cannot be opened by their path: deleted, replaced by an update, memfds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profile/model.hpp"

namespace flameprobe {

/// The bytes of the file behind a mapping of the host: whole through /proc/PID/exe or, with CAP_SYS_ADMIN,
/// /proc/PID/map_files; else only the mapped parts, at their offsets in the file; these have the dynamic symbols but
/// neither `.symtab` nor debug information. Nothing if the file is not mapped any more. For
/// SymbolizeOptions::read_image. Thread-safe; not for signal handlers.
std::optional<std::string> read_live_image(const Mapping& mapping);

/// Only the mapped parts of the file around an address of the host.
std::optional<std::string> copy_mapped_parts(std::uint64_t address);

}  // namespace flameprobe
