// Where the program was when a fatal signal ended it.
#pragma once

#include <string>
#include <vector>

#include "symbolize/location_names.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

/// Adds the addresses of the death record to the profile's locations, leaf first, so that they get names like others.
/// Empty if there is no such record.
std::vector<LocationId> add_last_stack(RawProfile& raw);

/// "the program was ended by SIGSEGV (Segmentation fault) in thread worker, in parse, called by handle, main"
std::string describe_death(const RawProfile& raw, const NamedProfile& profile, const LocationNames& names,
                           const std::vector<LocationId>& last_stack);

}  // namespace flameprobe
