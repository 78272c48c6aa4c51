#include "scope/record_scan.hpp"

namespace flameprobe {

namespace detail {

void scan_word_by_word(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    scan_from(record_range(address, bytes), 0, out);
}

}  // namespace detail

void scan_for_seals(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    if (detail::has_vector_scan()) {
        detail::scan_by_vectors(address, bytes, out);
    } else {
        detail::scan_word_by_word(address, bytes, out);
    }
}

}  // namespace flameprobe
