// A file that appears whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/output_directory.hpp"
#include "base/result.hpp"
#include "base/signals.hpp"

namespace flameprobe {

/// Written without a name in the same directory, and given it by commit(), so that readers see the whole older file or
/// the whole new one. Where there is an older one, or the file system has no such files, a temporary name comes before.
/// Without commit() nothing is left. "-" is standard output; files in /dev and
/// /proc are written in place, as they cannot be replaced.
///
/// Only a regular file of the running user is replaced, never a link, a pipe, a device or another user's file. The new
/// file has mode 0664 less the umask, and no permission that the older one did not have.
///
/// A file size limit or a closed pipe is an error here, and no write raises a signal (base/signals.hpp). One thread:
/// the one that opened it.
class OutputFile {
public:
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// After a failure nothing more is written; commit() returns the Error.
    void write(std::string_view text);
    bool failed() const { return !failure_.empty(); }
    /// Why it failed; empty if it did not.
    const std::string& failure() const { return failure_; }
    Result<void> commit();

private:
    bool is_in_place() const;
    void open_in_place();
    void open_temporary();
    void keep_rights();
    void put_in_place();
    void flush();
    void fail(const std::string& why);
    void fail(const char* doing, int error);

    const HeldSignals quiet_;  // as long as the rest
    std::string path_;         // as given, for messages
    std::optional<OutputDirectory> directory_;
    std::string name_;       // in the directory
    std::string temporary_;  // beside it; empty if it has no name yet, is written in place, or renamed already
    bool unnamed_ = false;
    Descriptor file_;
    int fd_ = -1;  // file_'s, or standard output
    std::string buffer_;
    std::string failure_;
};

/// A file of this text.
Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace flameprobe
