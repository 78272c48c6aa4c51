// Where functions start, from .eh_frame_hdr's search table (LSB 5.0, section 10.6.2): libdw keeps that to itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unwind/elf_image.hpp"

namespace flameprobe {

class FunctionIndex {
public:
    /// `image` owns the bytes and must outlive it.
    explicit FunctionIndex(const ElfImage& image);
    /// The last start at or before a virtual address of the file; 0 if there is none, or no table.
    std::uint64_t start_of(std::uint64_t address) const;
    /// The first start after it; 0 if there is none.
    std::uint64_t next_start(std::uint64_t address) const;
    struct Place {
        std::uint64_t header_address = 0;  // what the table's offsets count from
        std::uint64_t address = 0;
        std::size_t entries = 0;
    };
    Place place() const { return {header_address_, table_address_, count_}; }

private:
    std::uint64_t start(std::size_t entry) const;
    std::size_t entries_up_to(std::uint64_t address) const;

    const std::byte* entries_ = nullptr;
    std::size_t count_ = 0;
    std::uint64_t header_address_ = 0, table_address_ = 0;
};

}  // namespace flameprobe
