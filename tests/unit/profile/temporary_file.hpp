#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/descriptor.hpp"

namespace flameprobe::test {

/// An empty file with a name, gone when the test is over.
class TemporaryFile {
public:
    TemporaryFile() { ::close(mkstemp(path_.data())); }
    ~TemporaryFile() { ::unlink(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    const std::string& path() const { return path_; }
    Descriptor open() const { return Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC)); }
    std::string bytes() const {
        std::ifstream in(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }

private:
    std::string path_ = "/tmp/flameprobe-test-XXXXXX";
};

}  // namespace flameprobe::test
