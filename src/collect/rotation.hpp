// A profile that outgrows its file goes on in another: what becomes of the earlier parts, so that a server that runs
// for ever never fills a disk.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The collector thread only.
class Rotation {
public:
    /// `most_bytes`: what all files of the profile together may take.
    explicit Rotation(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

    /// What each file may take.
    std::uint64_t file_bytes() const { return most_bytes_ / most_files; }
    std::uint64_t most_bytes() const { return most_bytes_; }
    /// Number of the part that is being written; the first is 1.
    unsigned number() const { return number_; }
    /// The part that is being written gets this name when the next one begins, which takes over `stem`: so the newest
    /// is always where the user looks for the results.
    std::string stem_when_over(const std::string& stem) const { return stem + ".part" + std::to_string(number_); }
    /// The part that was being written is complete, at `path`. Removes the oldest part if there are too many.
    Result<void> put_away(std::string path, std::uint64_t samples);
    /// Samples in the parts that were removed.
    std::uint64_t given_up() const { return given_up_; }
    /// The path of the newest that was put away; empty if there is none.
    std::string newest() const { return earlier_.empty() ? std::string() : earlier_.back().path; }
    /// A line that tells the user where the parts are, `last` being the stem of the one that was being written, empty
    /// if it got no samples. Only if there are several.
    std::string describe(const std::string& last) const;

private:
    static constexpr std::uint64_t most_files = 8;
    // There are also the current part and, while it is compacted, its copy.
    static constexpr std::size_t most_earlier = most_files - 2;

    struct Part {
        std::string path;
        std::uint64_t samples;
    };
    std::uint64_t most_bytes_;
    unsigned number_ = 1;
    std::uint64_t given_up_ = 0;
    std::deque<Part> earlier_;
};

}  // namespace flameprobe
