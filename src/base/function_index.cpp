#include "base/function_index.hpp"

#include <dwarf.h>

#include <cstring>

namespace flameprobe {
namespace {

constexpr std::size_t entry_size = 8;  // two DW_EH_PE_sdata4: start and FDE

template <class T>
T value_at(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

/// Bytes of an encoded pointer; 0 for encodings that linkers do not write here.
std::size_t encoded_size(unsigned encoding) {
    switch (encoding & 0x0f) {
        case DW_EH_PE_udata2:
            return 2;
        case DW_EH_PE_udata4:
        case DW_EH_PE_sdata4:
            return 4;
        case DW_EH_PE_udata8:
        case DW_EH_PE_sdata8:
            return 8;
        default:
            return 0;
    }
}

std::uint64_t moved(std::uint64_t from, std::int32_t by) { return from + static_cast<std::uint64_t>(std::int64_t{by}); }

}  // namespace

FunctionIndex::FunctionIndex(std::span<const std::byte> header, std::uint64_t address) {
    if (header.size() < 12) return;
    const std::byte* const bytes = header.data();
    const auto version = value_at<std::uint8_t>(bytes), frame_encoding = value_at<std::uint8_t>(bytes + 1),
               count_encoding = value_at<std::uint8_t>(bytes + 2), table_encoding = value_at<std::uint8_t>(bytes + 3);
    const std::size_t frame_size = encoded_size(frame_encoding);
    const bool usual = version == 1 && frame_size != 0 && count_encoding == DW_EH_PE_udata4 &&
                       table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
    const std::size_t table = 4 + frame_size + 4;
    if (!usual || header.size() < table) return;
    const std::size_t count = value_at<std::uint32_t>(bytes + 4 + frame_size);
    if (count > (header.size() - table) / entry_size) return;
    entries_ = bytes + table;
    count_ = count;
    header_address_ = address;
}

std::uint64_t FunctionIndex::word(std::size_t entry, std::size_t which) const {
    return moved(header_address_, value_at<std::int32_t>(entries_ + entry * entry_size + which * 4));
}

std::size_t FunctionIndex::entries_up_to(std::uint64_t address) const {
    std::size_t low = 0, high = count_;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (start(middle) <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

std::uint64_t FunctionIndex::start_of(std::uint64_t address) const {
    const std::size_t after = entries_up_to(address);
    return after == 0 ? 0 : start(after - 1);
}

std::uint64_t FunctionIndex::next_start(std::uint64_t address) const {
    const std::size_t after = entries_up_to(address);
    return after == count_ ? 0 : start(after);
}

std::optional<FunctionIndex::Entry> FunctionIndex::entry_of(std::uint64_t address) const {
    const std::size_t after = entries_up_to(address);
    if (after == 0) return std::nullopt;
    return Entry{start(after - 1), word(after - 1, 1)};
}

std::optional<FunctionExtent> extent_of(std::span<const std::byte, 16> description, std::uint64_t address,
                                        std::uint64_t start) {
    // length, CIE pointer, begin (relative to itself), size
    const std::uint64_t begin = moved(address + 8, value_at<std::int32_t>(description.data() + 8));
    const auto size = value_at<std::uint32_t>(description.data() + 12);
    if (begin != start || size == 0 || size > ~begin) return std::nullopt;
    return FunctionExtent{begin, begin + size};
}

}  // namespace flameprobe
