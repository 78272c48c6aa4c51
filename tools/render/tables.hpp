// Tables of a profile as text: functions, scopes, facts.
#pragma once

#include <cstdint>
#include <string>

#include "arguments.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The `rows` functions with most samples, as a table for a terminal: self, total, name, module.
std::string top_table(const NamedProfile& profile, std::uint64_t rows, SortBy sort);

/// One row for each scope, and one for samples in none: samples while it was the innermost open scope, samples while it
/// was open at all, and the functions with most samples of their own while it was innermost.
std::string scope_table(const NamedProfile& profile, std::uint64_t rows);

/// What was measured and how, the threads, and the files whose code was sampled: "Label: value" lines.
std::string info_text(const NamedProfile& profile);

}  // namespace flameprobe
