// Where functions start and are described, from .eh_frame_hdr's search table (LSB 5.0, section 10.6.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace flameprobe {

class FunctionIndex {
public:
    FunctionIndex() = default;
    /// `header` is the segment PT_GNU_EH_FRAME, at virtual address `address` of the file; it must outlive the index.
    /// Empty if the encodings are other than linkers write.
    FunctionIndex(std::span<const std::byte> header, std::uint64_t address);

    /// The last start at or before a virtual address of the file; 0 if there is none, or no table.
    std::uint64_t start_of(std::uint64_t address) const;
    /// The first start after it; 0 if there is none.
    std::uint64_t next_start(std::uint64_t address) const;

    struct Entry {
        std::uint64_t start = 0;
        std::uint64_t description = 0;  // virtual address of its FDE
    };
    /// The entry whose start start_of() gives.
    std::optional<Entry> entry_of(std::uint64_t address) const;
    std::size_t size() const { return count_; }

private:
    std::uint64_t word(std::size_t entry, std::size_t which) const;
    std::uint64_t start(std::size_t entry) const { return word(entry, 0); }
    std::size_t entries_up_to(std::uint64_t address) const;

    const std::byte* entries_ = nullptr;
    std::size_t count_ = 0;
    std::uint64_t header_address_ = 0;  // what the offsets count from
};

/// Where the function of an FDE begins and ends, given the FDE's first 16 bytes, which lie at virtual address
/// `address`. nullopt unless its addresses are encoded as compilers do on 64-bit systems, which is so if it begins at
/// `start`.
struct FunctionExtent {
    std::uint64_t start = 0, end = 0;
};
std::optional<FunctionExtent> extent_of(std::span<const std::byte, 16> description, std::uint64_t address,
                                        std::uint64_t start);

}  // namespace flameprobe
