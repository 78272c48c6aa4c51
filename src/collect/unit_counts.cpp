#include "collect/unit_counts.hpp"

namespace flameprobe {
namespace {

constinit UnitCounters counters{};
constinit const UnitCounts* inherited = nullptr;  // never freed: the collector may outlive static destructors

}  // namespace

void read_unit_counts_by(UnitCounters those) { counters = those; }

void begin_unit_counts() {
    if (counters.read != nullptr) inherited = new UnitCounts(counters.read());
}

UnitCounts unit_counts() {
    if (counters.read == nullptr) return {};
    UnitCounts counts = counters.read();
    if (inherited == nullptr) return counts;
    for (const auto& [name, amount] : *inherited) {
        if ((counts[name] -= amount) == 0) counts.erase(name);
    }
    return counts;
}

bool any_units_counted() noexcept { return counters.any != nullptr && counters.any(); }

}  // namespace flameprobe
