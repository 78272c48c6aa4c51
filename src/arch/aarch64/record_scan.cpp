// No vectors yet: NEON has no 64-bit rotation and no cheap test of a whole register, so the plain loop is as good as
// it.
#include "scope/record_scan.hpp"

namespace flameprobe::detail {

bool has_vector_scan() { return false; }

void scan_by_vectors(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    scan_word_by_word(address, bytes, out);
}

}  // namespace flameprobe::detail
