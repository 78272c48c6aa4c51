#pragma once

#include <string>

namespace flameprobe {

/// Starts a process that removes `directory`, and the files in it, when this process has ended, by whatever means. It
/// waits for the last of those, too, that began later and use a file in it: daemons go on after the command that
/// started them, and give the library to what they execute.
void start_remover(const std::string& directory);

}  // namespace flameprobe
