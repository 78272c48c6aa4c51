// Call frame information made by hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unwind/cfi_row.hpp"

namespace flameprobe::testing {

/// Bytes one after the other.
struct CfiBytes {
    std::vector<std::uint8_t> bytes;

    CfiBytes() = default;
    CfiBytes(std::initializer_list<unsigned> values) {
        for (const unsigned value : values) bytes.push_back(static_cast<std::uint8_t>(value));
    }
    CfiBytes& add(const CfiBytes& more) {
        bytes.insert(bytes.end(), more.bytes.begin(), more.bytes.end());
        return *this;
    }
    CfiBytes& text(std::string_view letters) {
        bytes.insert(bytes.end(), letters.begin(), letters.end());
        bytes.push_back(0);
        return *this;
    }
    template <class T>
    CfiBytes& number(T value) {
        std::uint8_t out[sizeof value];
        std::memcpy(out, &value, sizeof value);
        bytes.insert(bytes.end(), out, out + sizeof value);
        return *this;
    }
    /// With its length in front.
    CfiBytes entry() const {
        CfiBytes out;
        return out.number(static_cast<std::uint32_t>(bytes.size())).add(*this);
    }
    std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes)); }
};

inline constexpr std::uint64_t code_start = 0x1000, code_end = 0x1100;

/// A section of one common entry and one description, of [code_start, code_end): code alignment 1, data alignment -8,
/// return address in register 16.
struct HandMadeSection {
    std::uint8_t version = 1;
    std::string augmentation = "zR";
    std::vector<std::uint8_t> augmentation_data = {0};  // DW_EH_PE_absptr
    CfiBytes initial = {0x0c, 7, 8, 0x90, 1};           // CFA = r7 + 8, r16 at CFA - 8
    CfiBytes instructions;
    bool is_debug_frame = false;
    std::uint64_t description = 0;  // its offset, once made
    CfiBytes bytes;

    CfiSection make() {
        CfiBytes common;
        common.number<std::uint32_t>(is_debug_frame ? 0xffffffff : 0).add(CfiBytes{version}).text(augmentation);
        if (version >= 4) common.add({8, 0});
        common.add({1, 0x78, 16});
        const bool sized = augmentation.starts_with('z');
        if (sized) common.add({static_cast<unsigned>(augmentation_data.size())});
        for (const std::uint8_t byte : augmentation_data) common.add({byte});
        bytes = common.add(initial).entry();
        description = bytes.bytes.size();
        CfiBytes entry;
        entry.number(static_cast<std::uint32_t>(is_debug_frame ? 0 : description + 4));
        entry.number(code_start).number(code_end - code_start);
        if (sized) entry.add({0});
        bytes.add(entry.add(instructions).entry());
        return {bytes.span(), 0, is_debug_frame};
    }
    std::optional<CfiRow> row(std::uint64_t address) {
        const CfiSection section = make();  // before its description is known
        const auto entry = cfi_entry_at(section, description);
        CfiRow row;
        return entry && find_row(*entry, address, row) ? std::optional(row) : std::nullopt;
    }
};

}  // namespace flameprobe::testing
