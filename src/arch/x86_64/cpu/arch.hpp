#pragma once

#include "arch/x86_64/walk_facts.hpp"

namespace flameprobe {

using Arch = ArchX86_64;

}  // namespace flameprobe
