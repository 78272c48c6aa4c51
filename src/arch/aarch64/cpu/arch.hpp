#pragma once

#include "arch/aarch64/walk_facts.hpp"

namespace flameprobe {

using Arch = ArchAarch64;

}  // namespace flameprobe
