// What a profile lacks, and what helps.
#pragma once

#include <cstdint>
#include <string>

#include "profile/model.hpp"

namespace flameprobe {

/// What more than a twentieth of a profile lacks, and the setting that helps: one sentence, or nothing. Stacks may have
/// gone on beyond the bytes that were `copied` of them; the engine copies at most `most`.
std::string what_is_missing(const Summary& summary, std::uint64_t not_sampled_ns, std::uint32_t copied,
                            std::uint32_t most);

}  // namespace flameprobe
