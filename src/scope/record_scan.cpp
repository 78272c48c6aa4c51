#include "scope/record_scan.hpp"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace flameprobe {
namespace {

static_assert(sizeof(flameprobe_scope) == 24);
constexpr std::size_t record_size = sizeof(flameprobe_scope), word_size = 8;

std::uint64_t word_at(const std::byte* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

/// flameprobe_scope_seal_ undone, for a record that was copied away from `address`.
std::uint64_t unseal(std::uint64_t address, std::uint64_t tag, std::uint64_t label, std::uint64_t outer) {
    return FLAMEPROBE_SCOPE_KEY ^ std::rotl(address, 32) ^ std::rotl(label, 24) ^ std::rotl(outer, 40) ^ tag;
}

bool is_user_address(std::uint64_t value) { return value >> user_address_bits == 0; }

void add_if_sealed(std::uint64_t address, const std::byte* bytes, std::vector<ScopeRecord>& out) {
    const std::uint64_t tag = word_at(bytes), label = word_at(bytes + 8), outer = word_at(bytes + 16);
    const std::uint64_t pc = unseal(address, tag, label, outer);
    // A closed scope has a tag of 0, and one in 2^17 of those would pass for open.
    if (tag == 0 || !is_user_address(pc) || !is_user_address(label)) return;
    out.push_back({address, label, outer, pc, FLAMEPROBE_CHAIN_OF(tag)});
}

/// The part of a stack in which a record can start: guards are aligned as their words are.
struct Range {
    std::uint64_t address = 0;
    const std::byte* bytes = nullptr;
    std::size_t starts = 0;  // words at which a whole record starts
};
Range record_range(std::uint64_t address, std::span<const std::byte> bytes) {
    const std::size_t skip = static_cast<std::size_t>(-address % word_size);
    if (bytes.size() < skip + record_size) return {};
    return {address + skip, bytes.data() + skip, (bytes.size() - skip - record_size) / word_size + 1};
}

void scan_from(const Range& range, std::size_t first, std::vector<ScopeRecord>& out) {
    for (std::size_t i = first; i < range.starts; ++i) {
        const std::byte* const at = range.bytes + i * word_size;
        const std::uint64_t address = range.address + i * word_size;
        if (is_user_address(unseal(address, word_at(at), word_at(at + 8), word_at(at + 16)))) {
            add_if_sealed(address, at, out);
        }
    }
}

}  // namespace

namespace detail {

void scan_scalar(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    scan_from(record_range(address, bytes), 0, out);
}

#if defined(__x86_64__)

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }

__attribute__((target("avx2"))) void scan_avx2(std::uint64_t address, std::span<const std::byte> bytes,
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
        const __m256i hits = _mm256_cmpeq_epi64(_mm256_srli_epi64(pcs, user_address_bits), zero);
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

#else

bool has_avx2() { return false; }
void scan_avx2(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    scan_scalar(address, bytes, out);
}

#endif

}  // namespace detail

void scan_for_seals(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    if (detail::has_avx2()) {
        detail::scan_avx2(address, bytes, out);
    } else {
        detail::scan_scalar(address, bytes, out);
    }
}

}  // namespace flameprobe
