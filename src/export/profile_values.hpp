// What a sample's numbers mean, in the words of pprof and OTLP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct ProfileValue {
    std::string type;      // "cpu"; never with `-`, which Pyroscope refuses
    std::string unit;      // "nanoseconds"
    bool is_hits = false;  // the value is the number of samples, whatever they weigh
};

struct ProfileValues {
    std::vector<ProfileValue> of_sample;  // the last is the one to show
    std::string period_type, period_unit;
    std::uint64_t period = 0;  // 0: it varies
};

/// For a clock: samples (count) and their time in nanoseconds. For a software event: the number of events. For a
/// hardware counter, whose period the kernel adjusts, and without a run: the number of samples.
ProfileValues values_of(const NamedProfile& profile);

/// CPU time between two samples in the mean; of merged runs with different periods, and of waits, that of the frequency
/// asked for. 1 if it is not known, or if the event is no clock.
std::uint64_t sampling_period_ns(const RunInfo& run);

/// The value of `hits` samples that weigh `weight` together, at most what a signed 64-bit number holds.
std::uint64_t amount(const ProfileValue& value, std::uint64_t weight, std::uint64_t hits);

}  // namespace flameprobe
