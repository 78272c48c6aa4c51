// The files that distributions move debug information to.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "symbolize/elf_file.hpp"

namespace flameprobe {

struct DebugFileSearch {
    std::vector<std::string> directories;  // such as /usr/lib/debug
    int root = -1;                         // where their paths begin: see FileBytes::open()
};

/// DIRECTORY/.build-id/xx/yyyy.debug, checked against the build id; null if there is none.
std::unique_ptr<ElfFile> find_by_build_id(const std::string& build_id, const DebugFileSearch& search);
/// The file that `.gnu_debuglink` names, beside `file`, in .debug beside it, or below a directory. Its CRC must be
/// right and its build id, if both have one, the same. Null if there is none.
std::unique_ptr<ElfFile> find_by_debuglink(const ElfFile& file, const DebugFileSearch& search);
/// The alternate file of dwz, which `.gnu_debugaltlink` names by path and build id. Null if there is none.
std::unique_ptr<ElfFile> find_alternate(const ElfFile& file, const DebugFileSearch& search);

// Debug files from the servers that DEBUGINFOD_URLS names. Uses the network: only if the user asks for it.

/// The path of the debug file for a build id (raw bytes), fetched into the client's cache if it is not there yet; empty
/// if no server has it. An Error where nothing can be asked: no client library, no servers, or no answer
/// before `until`.
Result<std::string> fetch_debug_file(const std::string& build_id, std::chrono::steady_clock::time_point until);

}  // namespace flameprobe
