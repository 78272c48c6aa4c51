#include "gates.hpp"

#include "base/number.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

double percent_of(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

std::string percentage(double value) { return short_decimal(value, 2) + "%"; }

}  // namespace

std::string failed_gate(const Gates& gates, std::uint64_t samples, const Summary* summary) {
    if (samples < gates.min_samples)
        return count_text(samples) + " samples, and --min-samples asks for " + count_text(gates.min_samples);
    if ((gates.min_rooted || gates.max_lost) && summary == nullptr)
        return "folded stacks do not say how much was rooted or lost, as --min-rooted and --max-lost ask";
    if (gates.min_rooted) {
        const double rooted = percent_of(summary->rooted, summary->samples);
        if (rooted < *gates.min_rooted)
            return percentage(rooted) + " of the time is rooted, and --min-rooted asks for " +
                   percentage(*gates.min_rooted);
    }
    if (gates.max_lost) {
        const double lost = percent_of(summary->lost, summary->samples + summary->lost);
        if (lost > *gates.max_lost)
            return percentage(lost) + " of the time was lost, and --max-lost permits " + percentage(*gates.max_lost);
    }
    return {};
}

Result<double> parse_percentage(std::string text) {
    const std::string given = text;
    if (text.ends_with('%')) text.pop_back();
    const auto value = number_in<double>(text);
    if (!value || !(*value >= 0 && *value <= 100)) return Error{"'" + given + "' is not a percentage from 0 to 100"};
    return *value;
}

}  // namespace flameprobe
