#include "diff_words.hpp"

#include <cmath>

#include "render/describe.hpp"
#include "render/numbers.hpp"

namespace flameprobe {

namespace {

/// A part of the whole that both sides are parts of.
std::string amount_of(const ProfileDiff& diff, double part) {
    const auto whole = static_cast<double>(std::max(diff.weight_before, diff.weight_after));
    return amount_text(diff.profile, static_cast<std::uint64_t>(std::llround(part * whole)));
}

std::string words(const ProfileDiff& diff, double part) {
    return diff.by_amount ? amount_of(diff, part) : fixed_text(100 * part, 2) + " %";
}

}  // namespace

std::string part_words(const ProfileDiff& diff, Share part) { return words(diff, part.value()); }

std::string difference_words(const ProfileDiff& diff, const Change& change) {
    return (change.difference() < 0 ? "−" : "+") + words(diff, std::abs(change.difference()));
}

std::string noise_words(const ProfileDiff& diff, const Change& change) { return "±" + words(diff, change.noise()); }

std::string side_words(const ProfileDiff& diff, bool after) {
    const std::string samples = samples_text(after ? diff.samples_after : diff.samples_before);
    return diff.by_amount ? unit_text(diff.profile, after ? diff.weight_after : diff.weight_before) + ", " + samples
                          : samples;
}

}  // namespace flameprobe
