#pragma once

#include <cstdint>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// A file that grows by whole pieces only. One thread only.
class AppendFile {
public:
    /// Takes a descriptor open for writing; the file is taken to be empty.
    explicit AppendFile(Descriptor file) : file_(std::move(file)) {}

    /// Gives a file to one that has no descriptor (any more). It must hold what was appended so far.
    void attach(Descriptor file) {
        file_ = std::move(file);
        in_place_ = size_ == 0;
    }

    /// Adds all of `piece`, or nothing: on an error the file is cut back to the size it had. Raises no SIGXFSZ.
    Result<void> append(std::string_view piece);
    std::uint64_t size() const { return size_; }
    /// Appends to another file from now on, at its end. False: its size is not known, and nothing has changed.
    bool go_on_in(Descriptor file);

private:
    Descriptor file_;
    std::uint64_t size_ = 0;
    bool in_place_ = true;  // the file's offset is its end
};

}  // namespace flameprobe
