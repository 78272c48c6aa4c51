#include <elf.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "symbolize/file_bytes.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t most_output = std::uint64_t{4} << 30;

/// What so many compressed bytes may become: debug information shrinks to a third or a tenth, and what would grow more
/// was made to fill the memory.
std::uint64_t most_of(std::size_t compressed) {
    constexpr std::uint64_t always = std::uint64_t{16} << 20, growth = 64;
    return std::min(most_output, std::max(always, compressed * growth));
}

}  // namespace

std::string decompress_section(Bytes section) {
    constexpr std::uint32_t elfcompress_zstd = 2;  // newer than some elf.h
    Elf64_Chdr header{};
    if (section.size() < sizeof header) return {};
    std::memcpy(&header, section.data(), sizeof header);
    const Bytes packed = section.subspan(sizeof header);
    if (header.ch_size > most_of(packed.size())) return {};
    std::string out(header.ch_size, '\0');
    bool whole = false;
    if (header.ch_type == ELFCOMPRESS_ZLIB) {
        uLongf made = out.size();
        whole = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &made, reinterpret_cast<const Bytef*>(packed.data()),
                             packed.size()) == Z_OK &&
                made == out.size();
    } else if (header.ch_type == elfcompress_zstd) {
        whole = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) == out.size();
    }
    return whole ? std::move(out) : std::string();
}

std::string decompress_xz(Bytes file) {
    for (std::uint64_t room = file.size() * 8 + 4096;; room *= 2) {  // its end says how much it is
        std::string out(std::min(room, most_of(file.size())), '\0');
        std::uint64_t memory = std::uint64_t{256} << 20;
        std::size_t taken = 0, made = 0;
        const lzma_ret status =
            ::lzma_stream_buffer_decode(&memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(file.data()), &taken,
                                        file.size(), reinterpret_cast<std::uint8_t*>(out.data()), &made, out.size());
        if (status == LZMA_OK) return out.substr(0, made);
        if (status != LZMA_BUF_ERROR || out.size() < room) return {};  // LZMA_BUF_ERROR: there was no room
    }
}

}  // namespace flameprobe
