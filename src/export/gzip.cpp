#include "export/gzip.hpp"

#include <zlib.h>

#include <array>
#include <limits>
#include <new>

namespace flameprobe {

struct GzipStream::State {
    explicit State(const ByteSink& sink) : out(sink) {
        constexpr int gzip_window = 15 + 16;  // zlib.h: 16 more asks for a gzip header
        if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    ~State() { ::deflateEnd(&stream); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void run(int flush) {
        do {
            stream.next_out = reinterpret_cast<Bytef*>(piece.data());
            stream.avail_out = static_cast<uInt>(piece.size());
            ::deflate(&stream, flush);
            const std::size_t made = piece.size() - stream.avail_out;
            if (made > 0) out(std::string_view(piece.data(), made));
        } while (stream.avail_out == 0);
    }

    const ByteSink& out;
    z_stream stream{};
    std::array<char, 64 * 1024> piece;
};

GzipStream::GzipStream(const ByteSink& out) : state_(std::make_unique<State>(out)) {}

GzipStream::~GzipStream() = default;

void GzipStream::write(std::string_view bytes) {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    while (!bytes.empty()) {
        const std::string_view part = bytes.substr(0, most);
        // zlib does not write to its input, but says so only where ZLIB_CONST is defined.
        state_->stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
        state_->stream.avail_in = static_cast<uInt>(part.size());
        state_->run(Z_NO_FLUSH);
        bytes.remove_prefix(part.size());
    }
}

void GzipStream::finish() { state_->run(Z_FINISH); }

}  // namespace flameprobe
