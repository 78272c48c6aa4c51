#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// Reads a file or a pipe from front to back, and can look ahead: enough to tell a `.fprobe` from text on stdin.
class ByteSource {
public:
    /// `name` is what errors call it.
    ByteSource(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
    /// "-" is stdin.
    static Result<ByteSource> open(const std::string& path);

    const std::string& name() const { return name_; }
    /// Bytes from the start of the input to what `read` gives next.
    std::uint64_t offset() const { return offset_; }

    /// The next bytes, `size` at most, without passing them: fewer at the end of the input.
    Result<std::string> peek(std::size_t size);
    /// Appends the next bytes to `out`: `size` of them, fewer only at the end of the input. Memory grows with what is
    /// really there, so `size` may come from a hostile file.
    Result<std::size_t> read(std::size_t size, std::string& out);

private:
    Result<std::size_t> read_some(char* to, std::size_t size);

    Descriptor file_;
    std::string name_;
    std::string ahead_;
    std::uint64_t offset_ = 0;
};

}  // namespace flameprobe
