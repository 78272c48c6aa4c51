// The `.fprobe` file that grows while the host runs, and its rotation.
#pragma once

#include <sys/stat.h>
#include <time.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/output_directory.hpp"
#include "base/result.hpp"
#include "profile/writer.hpp"

namespace flameprobe {

bool is_later(const timespec& a, const timespec& b);

/// Which results of earlier runs may be replaced.
struct OlderResults {
    bool keep = false;     // none may be replaced
    timespec run_start{};  // by CLOCK_REALTIME_COARSE, which dates files; results written since are of this run
    bool grows = false;    // a result of this run may be added to: a program that was executed goes on with it

    bool give_way(const struct stat& found) const { return !keep && !is_later(found.st_mtim, run_start); }
};

/// The collector thread only. The file appears with the first samples, so a run without any leaves nothing, and an
/// older result under the same name is replaced only by one that has samples.
class ProfileFile {
public:
    /// `stem`: the results' path without ending. A name that is taken gets ".2", ".3", ...: no file is replaced that
    /// `older` keeps, that another process is writing (it holds base/write_lock.hpp's lock), or that is not a regular
    /// file of the running user (see avoided()). So results of different processes of one run never overwrite each
    /// other.
    ProfileFile(std::string stem, OlderResults older, std::uint64_t most_bytes)
        : stem_(std::move(stem)), rules_(older), most_bytes_(most_bytes), full_at_(most_bytes), writer_(Descriptor{}) {}

    /// Where the file is to be, asked for when it is created: the folder may not be there before.
    struct Placed {
        OutputDirectory directory;
        std::string stem;  // the path
    };
    using Place = std::function<Result<Placed>()>;
    void place_by(Place place) { place_ = std::move(place); }

    ProfileWriter& writer() { return writer_; }
    /// Creates the file if it does not exist yet. Where an older result has its name, the file takes that name at the
    /// first flush.
    Result<void> create();
    /// Appends what is buffered; the file must have been created.
    Result<void> flush();
    /// Closes the file, if there is one, until reopen().
    void close();
    Result<void> reopen();
    /// Removes the file: it got no samples.
    void remove();
    bool created() const { return created_; }
    /// After close(): whether it had been removed, or replaced, by then.
    bool taken_away() const { return taken_away_; }
    /// The path without ending, with the number that it may have got.
    const std::string& stem() const { return stem_; }
    /// Whether the file has reached `most_bytes`.
    bool full() const { return created_ && writer_.bytes_written() >= full_at_; }
    /// Writes what is in the file at `path` into an empty one, smaller.
    using Compaction = std::function<Result<void>(const std::string& path, const Descriptor& into)>;
    /// To be called after a flush. Makes the file small again. False: that gains little, or failed, and the profile
    /// should go on in another file, after move_to().
    bool compact(const Compaction& by);
    /// Renames the file; writing goes on.
    Result<void> move_to(std::string stem);
    /// Lets the file take `most_bytes` more, where there can be no other.
    void grow();
    std::uint64_t bytes() const { return writer_.bytes_written(); }
    std::uint64_t most_bytes() const { return most_bytes_; }
    std::string path() const { return unpublished_.empty() ? own_path() : unpublished_; }
    /// A sentence on what stood in the way under the results' name, such as a symbolic link; empty if nothing did.
    const std::string& avoided() const { return avoided_; }

private:
    std::string own_path() const { return stem_ + ".fprobe"; }
    Descriptor make(const OutputDirectory& directory, const std::string& name) const;
    Descriptor take_name(const OutputDirectory& directory);
    bool older_gives_way(const OutputDirectory& directory, const std::string& name);
    Descriptor create_unpublished(const OutputDirectory& directory);
    void adopt(const Descriptor& file);
    bool is_ours(const OutputDirectory& directory, const std::string& name) const;
    void publish();
    Result<void> enter();
    Result<void> name_file(const std::string& wanted);

    std::string stem_;
    Place place_;
    std::optional<OutputDirectory> directory_;  // from create() to close(), and from reopen()
    struct stat within_ {};                     // that directory
    OlderResults rules_;
    const std::uint64_t most_bytes_;
    std::uint64_t full_at_;
    bool created_ = false;
    bool closed_ = false;
    bool taken_away_ = false;
    std::string unpublished_;   // the file's path until its first flush, where an older result has the name
    Descriptor older_;          // that result, locked so that no other process replaces it
    struct stat published_ {};  // the file under the name that the next one may replace: the older result, or ours
    struct stat ours_ {};
    std::string avoided_;
    ProfileWriter writer_;
};

/// A profile that outgrows its file goes on in another: what becomes of the earlier parts, so that a server that runs
/// for ever never fills a disk. The collector thread only.
class Rotation {
public:
    /// `most_bytes`: what all files of the profile together may take.
    explicit Rotation(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

    std::uint64_t file_bytes() const { return most_bytes_ / most_files; }
    std::uint64_t most_bytes() const { return most_bytes_; }
    /// Number of the part that is being written; the first is 1.
    unsigned number() const { return number_; }
    /// The part that is being written gets this name when the next one begins, which takes over `stem`: so the newest
    /// is always where the user looks for the results.
    std::string stem_when_over(const std::string& stem) const { return stem + ".part" + std::to_string(number_); }
    /// The part that was being written is complete, at `path`. Removes the oldest part if there are too many.
    Result<void> put_away(std::string path, std::uint64_t samples);
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
