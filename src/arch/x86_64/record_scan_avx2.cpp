#include <dlfcn.h>
#include <immintrin.h>

#include <array>

#include "scope/record_scan.hpp"

namespace flameprobe::detail {

namespace {

/// What libc's __x86_get_cpuid_feature_leaf gives (glibc 2.33, sys/platform/x86.h): four registers of cpuid(4) as the
/// CPU has them, and as they can be used.
struct FeatureLeaf {
    std::array<std::uint32_t, 4> present, active;
};

// Not __builtin_cpu_supports: that executes cpuid some twenty times, each of which traps to the hypervisor in a virtual
// machine: a twentieth of what a short process costs. Nor cpuid here, which may fault (arch_prctl(2), ARCH_SET_CPUID).
bool has_avx2() {
    constexpr unsigned leaf_7 = 1, ebx = 1, avx2 = 1 << 5;
    auto* const leaf =
        reinterpret_cast<const FeatureLeaf* (*)(unsigned)>(::dlsym(RTLD_DEFAULT, "__x86_get_cpuid_feature_leaf"));
    return leaf != nullptr && (leaf(leaf_7)->active[ebx] & avx2) != 0;
}

// Set while the library is loaded: a child forked while another thread initialises a function's static would wait for
// that for ever.
const bool use_vectors = has_avx2();

}  // namespace

bool has_vector_scan() { return use_vectors; }

__attribute__((target("avx2"))) void scan_by_vectors(std::uint64_t address, std::span<const std::byte> bytes,
                                                     std::vector<ScopeRecord>& out) {
    const Range range = record_range(address, bytes);
    // Rotations by whole bytes are one shuffle.
    const __m256i rotate_24 = _mm256_setr_epi8(5, 6, 7, 0, 1, 2, 3, 4, 13, 14, 15, 8, 9, 10, 11, 12, 5, 6, 7, 0, 1, 2,
                                               3, 4, 13, 14, 15, 8, 9, 10, 11, 12);
    const __m256i rotate_40 = _mm256_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10, 3, 4, 5, 6, 7, 0,
                                               1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
    constexpr int swap_halves = _MM_SHUFFLE(2, 3, 0, 1);  // a rotation by 32
    const __m256i key = _mm256_set1_epi64x(static_cast<long long>(FLAMEPROBE_SCOPE_KEY));
    const __m256i step = _mm256_set1_epi64x(4 * word_size), zero = _mm256_setzero_si256();
    const auto start = static_cast<long long>(range.address);
    __m256i addresses = _mm256_setr_epi64x(start, start + 8, start + 16, start + 24);
    std::size_t i = 0;
    for (; i + 4 <= range.starts; i += 4) {
        const std::byte* const at = range.bytes + i * word_size;
        const auto* const vectors = reinterpret_cast<const __m256i*>(at);
        const auto* const next = reinterpret_cast<const __m256i*>(at + 8);
        const auto* const after = reinterpret_cast<const __m256i*>(at + 16);
        const __m256i labels = _mm256_shuffle_epi8(_mm256_loadu_si256(next), rotate_24);
        const __m256i outers = _mm256_shuffle_epi8(_mm256_loadu_si256(after), rotate_40);
        const __m256i turned = _mm256_xor_si256(_mm256_shuffle_epi32(addresses, swap_halves), key);
        const __m256i pcs =
            _mm256_xor_si256(_mm256_xor_si256(_mm256_loadu_si256(vectors), labels), _mm256_xor_si256(outers, turned));
        const __m256i hits = _mm256_cmpeq_epi64(_mm256_srli_epi64(pcs, cpu::user_address_bits), zero);
        addresses = _mm256_add_epi64(addresses, step);
        if (_mm256_testz_si256(hits, hits) != 0) continue;
        auto mask = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(hits)));
        for (; mask != 0; mask &= mask - 1) {
            const std::size_t word = i + static_cast<unsigned>(std::countr_zero(mask));
            add_if_sealed(range.address + word * word_size, range.bytes + word * word_size, out);
        }
    }
    scan_from(range, i, out);
}

}  // namespace flameprobe::detail
