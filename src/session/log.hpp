// One-line messages to the user, and nothing else: stdout is the host's, and stderr only while it is still the one that
// the host was started with (a daemon may have reused descriptor 2 for a database).
#pragma once

#include <sys/types.h>

#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "session/options.hpp"

namespace flameprobe {

class Log {
public:
    /// Remembers what stderr is now.
    Log(LogMode mode, std::string path);
    /// In a forked child: stderr is what it was for the parent, whatever it is now.
    explicit Log(const Log& parent)
        : mode_(parent.mode_),
          path_(parent.path_),
          device_(parent.device_),
          inode_(parent.inode_),
          terminal_(parent.terminal_) {}

    /// Something the user must know: always shown, except with `quiet`.
    void warning(std::string_view text) { write(text, true); }
    /// The same, for what would be noticed again and again.
    void warn_once(const std::string& text);
    /// Good to know: shown on a terminal, or where the user asked for a log.
    void message(std::string_view text) { write(text, false); }
    /// The collector has its own descriptor table, where 2 is not the host's stderr: its lines wait for a host thread.
    void hold(bool held = true) { held_ = held; }
    /// Writes the lines that were held: for host threads, those that the collector left.
    void release();
    /// The same for the collector of a host that may end past libc: writes to `host_stderr`, the host's own descriptor.
    /// Does nothing if that would have to wait.
    void release_to(const Descriptor& host_stderr);

private:
    void write(std::string_view text, bool important);
    /// Why the line is not in the file; empty if it is.
    std::string append_to_file(const std::string& line) const;
    void show(const std::string& line);
    bool is_new(const std::string& text);
    std::string take_waiting();
    void emit(const std::string& line, int to) const;
    bool is_the_same_stderr(int descriptor) const;

    LogMode mode_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    bool terminal_ = false;
    static thread_local bool held_;
    std::mutex mutex_;
    std::string waiting_;
    std::set<std::string> told_;  // by warn_once()
};

}  // namespace flameprobe
