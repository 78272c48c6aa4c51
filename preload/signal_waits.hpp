#pragma once

namespace flameprobe {

/// For a signal that the calling thread blocks: takes back what an engine has sent. What others sent goes on waiting.
/// Gives whether something does.
bool drop_engines_signals(int number) noexcept;

}  // namespace flameprobe
