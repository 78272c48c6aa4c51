// What changed, in words: shares, or amounts where these are compared.
#pragma once

#include <string>

#include "diff.hpp"

namespace flameprobe {

std::string part_words(const ProfileDiff& diff, Share part);  // "12.30 %", "4.5 MiB"
std::string difference_words(const ProfileDiff& diff,
                             const Change&);  // "+12.30 %", with a sign that no font draws as a hyphen
std::string noise_words(const ProfileDiff& diff, const Change& change);  // "±12.30 %"
/// Of a side: "12 samples", "4.5 MiB, 12 samples".
std::string side_words(const ProfileDiff& diff, bool after);

}  // namespace flameprobe
