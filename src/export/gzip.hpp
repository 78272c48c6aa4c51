// A gzip stream (RFC 1952).
#pragma once

#include <zlib.h>

#include <array>
#include <limits>
#include <new>
#include <string_view>

#include "outside/byte_stream.hpp"

namespace flameprobe {

/// Compresses its input and passes it on. No time stamp, so that equal input gives equal output.
class GzipStream {
public:
    explicit GzipStream(const ByteSink& out) : out_(out) {
        constexpr int gzip_window = 15 + 16;  // zlib.h: 16 more asks for a gzip header
        if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    explicit GzipStream(ByteSink&&) = delete;  // it has to outlive this
    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;
    ~GzipStream() { ::deflateEnd(&stream_); }

    void write(std::string_view bytes) {
        constexpr std::size_t most = std::numeric_limits<uInt>::max();
        for (; !bytes.empty(); bytes.remove_prefix(std::min(most, bytes.size()))) {
            // zlib does not write to its input, but says so only where ZLIB_CONST is defined.
            stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
            stream_.avail_in = static_cast<uInt>(std::min(most, bytes.size()));
            run(Z_NO_FLUSH);
        }
    }
    void finish() { run(Z_FINISH); }

private:
    void run(int flush) {
        do {
            stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
            stream_.avail_out = static_cast<uInt>(piece_.size());
            ::deflate(&stream_, flush);
            const std::size_t made = piece_.size() - stream_.avail_out;
            if (made > 0) out_(std::string_view(piece_.data(), made));
        } while (stream_.avail_out == 0);
    }

    const ByteSink& out_;
    z_stream stream_{};
    std::array<char, 64 * 1024> piece_;
};

}  // namespace flameprobe
