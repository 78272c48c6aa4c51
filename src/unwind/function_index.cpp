#include "unwind/function_index.hpp"

#include <dwarf.h>
#include <gelf.h>

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
            return 4;
        case DW_EH_PE_udata8:
            return 8;
        case DW_EH_PE_sdata4:
            return 4;
        case DW_EH_PE_sdata8:
            return 8;
        default:
            return 0;
    }
}

}  // namespace

FunctionIndex::FunctionIndex(const ElfImage& image) {
    std::size_t headers = 0;
    if (::elf_getphdrnum(image.elf(), &headers) != 0) return;
    for (std::size_t i = 0; i < headers; ++i) {
        GElf_Phdr header;
        if (::gelf_getphdr(image.elf(), static_cast<int>(i), &header) == nullptr) return;
        if (header.p_type != PT_GNU_EH_FRAME) continue;
        const Elf_Data* const data = ::elf_getdata_rawchunk(image.elf(), static_cast<std::int64_t>(header.p_offset),
                                                            header.p_filesz, ELF_T_BYTE);
        if (data == nullptr || data->d_size < 12) return;
        const auto* const bytes = static_cast<const std::byte*>(data->d_buf);
        const auto version = value_at<std::uint8_t>(bytes), frame_encoding = value_at<std::uint8_t>(bytes + 1),
                   count_encoding = value_at<std::uint8_t>(bytes + 2),
                   table_encoding = value_at<std::uint8_t>(bytes + 3);
        const std::size_t frame_size = encoded_size(frame_encoding);
        const bool usual = version == 1 && frame_size != 0 && count_encoding == DW_EH_PE_udata4 &&
                           table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
        const std::size_t table = 4 + frame_size + 4;
        if (!usual || data->d_size < table) return;
        const std::size_t count = value_at<std::uint32_t>(bytes + 4 + frame_size);
        if (count > (data->d_size - table) / entry_size) return;
        entries_ = bytes + table;
        count_ = count;
        header_address_ = header.p_vaddr;
        table_address_ = header.p_vaddr + table;
        return;
    }
}

std::uint64_t FunctionIndex::start(std::size_t entry) const {
    const auto offset = value_at<std::int32_t>(entries_ + entry * entry_size);
    return header_address_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(offset));
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

}  // namespace flameprobe
