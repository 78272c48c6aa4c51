#pragma once

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The path of a file that belongs to this program: `name` in the library folder that is installed beside it, or
/// `built` from the program's own folder in a build tree. An Error names where it was looked for.
Result<std::string> installed_file(const std::string& name, const std::string& built);

/// From now on `source` is asked for them, since this program has them in itself.
void take_installed_files_from(Result<std::string> (*source)(const std::string& name));

}  // namespace flameprobe
