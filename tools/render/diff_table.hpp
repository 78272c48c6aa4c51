#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "arguments.hpp"
#include "diff.hpp"
#include "tables.hpp"

namespace flameprobe {

struct DiffTable {
    std::string text;
    std::uint64_t grown = 0;  // functions whose self or total share grew beyond noise by more than `fail_above`
};

/// The `rows` functions that changed most, those beyond noise first. `fail_above` is in percent of the time.
DiffTable diff_table(ProfileDiff& diff, std::uint64_t rows, SortBy sort, std::optional<double> fail_above,
                     const TableNames& names = {});

// What changed, in words: shares, or amounts where these are compared.

std::string part_words(const ProfileDiff& diff, Share part);  // "12.30 %", "4.5 MiB"
std::string difference_words(const ProfileDiff& diff,
                             const Change&);  // "+12.30 %", with a sign that no font draws as a hyphen
std::string noise_words(const ProfileDiff& diff, const Change& change);  // "±12.30 %"
/// Of a side: "12 samples", "4.5 MiB, 12 samples".
std::string side_words(const ProfileDiff& diff, bool after);

}  // namespace flameprobe
