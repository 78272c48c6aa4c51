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

}  // namespace flameprobe
