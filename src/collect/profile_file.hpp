// Where the `.fprobe` grows while the host runs.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "profile/writer.hpp"

namespace flameprobe {

/// The collector thread only. The file appears with the first samples, so a run without any leaves nothing, and an
/// older result under the same name is replaced only by one that has samples.
class ProfileFile {
public:
    /// `stem`: the results' path without ending. With `keep_others` a name that is taken gets ".2", ".3", ... instead
    /// of being replaced: results of different processes never overwrite each other.
    /// When the file passes `most_bytes` it is made small again (ProfileWriter::compact_into); see full().
    ProfileFile(std::string stem, bool keep_others, std::uint64_t most_bytes = std::uint64_t{64} << 20)
        : stem_(std::move(stem)),
          keep_others_(keep_others),
          most_bytes_(most_bytes),
          compact_at_(most_bytes),
          writer_(Descriptor{}) {}

    ProfileWriter& writer() { return writer_; }
    /// Creates the file if it does not exist yet. Where an older result has its name, it gets that at the first flush.
    Result<void> create();
    /// Appends what is buffered; the file must have been created.
    Result<void> flush();
    /// Closes the file, if there is one, until reopen().
    void close();
    Result<void> reopen();
    /// Takes a file that got no samples away.
    void remove();
    bool created() const { return created_; }
    /// Without ending; may have got a number.
    const std::string& stem() const { return stem_; }
    /// The file has its size, and little of that was samples that could be added up: the profile should go on in
    /// another, with this one out of the way.
    bool full() const { return full_; }
    /// The file gets another name, and goes on to be written.
    Result<void> move_to(std::string stem);
    /// Where there can be no other file: this one may take `most_bytes` more.
    void go_on();
    std::uint64_t bytes() const { return writer_.bytes_written(); }
    std::uint64_t most_bytes() const { return most_bytes_; }
    std::string path() const { return unpublished_.empty() ? own_path() : unpublished_; }

private:
    std::string own_path() const { return stem_ + ".fprobe"; }
    std::string temporary_path() const { return own_path() + ".new." + std::to_string(::getpid()); }
    void publish();
    void compact();

    std::string stem_;
    bool keep_others_;
    const std::uint64_t most_bytes_;
    std::uint64_t compact_at_;
    bool created_ = false;
    bool closed_ = false;
    bool full_ = false;
    std::string unpublished_;  // the file's name until its first flush, where an older result has the right one
    ProfileWriter writer_;
};

}  // namespace flameprobe
