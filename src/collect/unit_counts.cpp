#include "collect/unit_counts.hpp"

namespace flameprobe {
namespace {

constinit ReadUnitCounts read_by = nullptr;
constinit const UnitCounts* inherited = nullptr;  // never freed: the collector may outlive static destructors

}  // namespace

void read_unit_counts_by(ReadUnitCounts read) { read_by = read; }

void begin_unit_counts() {
    if (read_by != nullptr) inherited = new UnitCounts(read_by());
}

UnitCounts unit_counts() {
    if (read_by == nullptr) return {};
    UnitCounts counts = read_by();
    if (inherited == nullptr) return counts;
    for (const auto& [name, amount] : *inherited) counts[name] -= amount;
    return counts;
}

}  // namespace flameprobe
