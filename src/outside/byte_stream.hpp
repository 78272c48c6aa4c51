// Where bytes come from, and where they go.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// Reads a file or a pipe from front to back, and can look ahead: enough to tell a `.fprobe` from text on stdin.
class ByteSource {
public:
    /// `name` is what errors call it.
    ByteSource(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
    /// "-" is stdin.
    static Result<ByteSource> open(const std::string& path) {
        const bool standard_input = path == "-";
        Descriptor file(standard_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                       : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        const std::string name = standard_input ? "standard input" : path;
        return of(std::move(file), name);
    }
    /// Errors if the file is not open, and of a directory.
    static Result<ByteSource> of(Descriptor file, const std::string& name) {
        if (!file) return Error{name + ": cannot be opened: " + error_text(errno)};
        struct stat status {};
        if (fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
            return Error{name + ": is a directory; name the profile in it"};
        }
        return ByteSource(std::move(file), name);
    }

    const std::string& name() const { return name_; }
    /// Bytes from the start of the input to what `read` gives next.
    std::uint64_t offset() const { return offset_; }

    /// The next bytes, `size` at most, without passing them: fewer at the end of the input.
    Result<std::string> peek(std::size_t size) {
        while (ahead_.size() < size) {
            char piece[4096];
            auto got = read_some(piece, std::min(sizeof piece, size - ahead_.size()));
            if (!got) return got.error();
            if (*got == 0) break;
            ahead_.append(piece, *got);
        }
        return ahead_.substr(0, size);
    }
    /// Appends the next bytes to `out`: `size` of them, fewer only at the end of the input. Memory grows with what is
    /// really there, so `size` may come from a hostile file.
    Result<std::size_t> read(std::size_t size, std::string& out) {
        constexpr std::size_t step = 256 * 1024;
        std::size_t done = std::min(size, ahead_.size());
        out.append(ahead_, 0, done);
        ahead_.erase(0, done);
        while (done < size) {
            const std::size_t before = out.size();
            out.resize(before + std::min(step, size - done));
            auto got = read_some(out.data() + before, out.size() - before);
            out.resize(before + (got ? *got : 0));
            if (!got) return got.error();
            if (*got == 0) break;
            done += *got;
        }
        offset_ += done;
        return done;
    }

private:
    Result<std::size_t> read_some(char* to, std::size_t size) {
        for (;;) {
            const ssize_t got = ::read(file_.get(), to, size);
            if (got >= 0) return static_cast<std::size_t>(got);
            if (errno != EINTR) {
                return Error{name_ + ": cannot be read at offset " + std::to_string(offset_) + ": " +
                             error_text(errno)};
            }
        }
    }

    Descriptor file_;
    std::string name_;
    std::string ahead_;
    std::uint64_t offset_ = 0;
};

/// Takes an output piece by piece, so that no writer needs to hold it whole.
using ByteSink = std::function<void(std::string_view)>;

/// Bytes that a writer gathers before it hands them on.
inline constexpr std::size_t piece_size = 256 * 1024;

}  // namespace flameprobe
