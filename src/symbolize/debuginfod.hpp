// Debug files from the servers that DEBUGINFOD_URLS names. Uses the network: only if the user asks for it.
#pragma once

#include <chrono>
#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The path of the debug file for a build id (raw bytes), fetched into the client's cache if it is not there yet; empty
/// if no server has it. An Error where nothing can be asked: no client library, no servers, or no answer
/// before `until`.
Result<std::string> fetch_debug_file(const std::string& build_id, std::chrono::steady_clock::time_point until);

}  // namespace flameprobe
