// A gzip stream (RFC 1952). zlib's types stay in gzip.cpp.
#pragma once

#include <memory>
#include <string_view>

#include "outside/byte_stream.hpp"

namespace flameprobe {

/// Compresses its input and passes it on. No time stamp, so that equal input gives equal output.
class GzipStream {
public:
    explicit GzipStream(const ByteSink& out);
    explicit GzipStream(ByteSink&&) = delete;  // it has to outlive this
    ~GzipStream();
    void write(std::string_view bytes);
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace flameprobe
