#include <elf.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

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

constexpr std::uint64_t lzma_memory = std::uint64_t{256} << 20;

/// Size of the output buffer: at first what the header announces, within a limit since the header may be hostile, then
/// doubled.
std::size_t next_size(std::size_t have, std::uint64_t announced) {
    constexpr std::size_t trusted = std::size_t{64} << 20;
    if (have == 0) return static_cast<std::size_t>(std::clamp<std::uint64_t>(announced, 4096, trusted));
    return std::max(have * 2, std::size_t{4096});
}

struct EndInflate {
    void operator()(z_stream* stream) const { inflateEnd(stream); }
};
struct EndLzma {
    void operator()(lzma_stream* stream) const { lzma_end(stream); }
};

std::string inflate_all(Bytes input, std::uint64_t announced) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return {};
    const std::unique_ptr<z_stream, EndInflate> owner(&stream);
    std::string out;
    std::size_t done = 0, consumed = 0;
    for (int status = Z_OK; status == Z_OK;) {
        if (done == out.size()) out.resize(std::min<std::size_t>(next_size(done, announced), announced));
        const std::size_t input_now = std::min<std::size_t>(input.size() - consumed, 1 << 30);
        const std::size_t output_now = std::min<std::size_t>(out.size() - done, 1 << 30);
        stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input.data() + consumed));
        stream.avail_in = static_cast<uInt>(input_now);
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
        stream.avail_out = static_cast<uInt>(output_now);
        status = inflate(&stream, Z_NO_FLUSH);
        consumed += input_now - stream.avail_in;
        done += output_now - stream.avail_out;
        if (status == Z_STREAM_END && done == announced) return out;
    }
    return {};
}

/// As inflate_all. The window of a hostile frame is bounded by the library (128 MiB).
std::string unzstd_all(Bytes input, std::uint64_t announced) {
    const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
    if (!context) return {};
    std::string out;
    ZSTD_inBuffer from{input.data(), input.size(), 0};
    for (std::size_t done = 0;;) {
        if (done == out.size()) out.resize(std::min<std::size_t>(next_size(done, announced), announced));
        ZSTD_outBuffer to{out.data(), out.size(), done};
        const std::size_t consumed = from.pos;
        const std::size_t status = ZSTD_decompressStream(context.get(), &to, &from);
        if (ZSTD_isError(status) || (to.pos == done && from.pos == consumed)) return {};
        done = to.pos;
        // Several frames may follow one another.
        if (status == 0 && from.pos == from.size) return done == announced ? out : std::string();
    }
}

}  // namespace

std::string decompress_section(Bytes section) {
    Elf64_Chdr header{};
    if (section.size() < sizeof header) return {};
    std::memcpy(&header, section.data(), sizeof header);
    const Bytes compressed = section.subspan(sizeof header);
    if (header.ch_size > most_of(compressed.size())) return {};
    if (header.ch_type == ELFCOMPRESS_ZLIB) return inflate_all(compressed, header.ch_size);
    constexpr std::uint32_t elfcompress_zstd = 2;  // newer than some elf.h
    return header.ch_type == elfcompress_zstd ? unzstd_all(compressed, header.ch_size) : std::string();
}

std::string decompress_xz(Bytes file) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, lzma_memory, 0) != LZMA_OK) return {};
    const std::unique_ptr<lzma_stream, EndLzma> owner(&stream);
    std::string out(next_size(0, file.size() * 4), '\0');
    stream.next_in = reinterpret_cast<const std::uint8_t*>(file.data());
    stream.avail_in = file.size();
    for (std::size_t done = 0; done < most_of(file.size());) {
        stream.next_out = reinterpret_cast<std::uint8_t*>(out.data() + done);
        stream.avail_out = out.size() - done;
        const lzma_ret status = lzma_code(&stream, LZMA_FINISH);
        done = out.size() - stream.avail_out;
        if (status == LZMA_STREAM_END) {
            out.resize(done);
            return out;
        }
        if (status != LZMA_OK && status != LZMA_BUF_ERROR) break;
        if (stream.avail_out != 0) break;  // no progress although there is room: the input is cut off
        out.resize(next_size(out.size(), 0));
    }
    return {};
}

}  // namespace flameprobe
