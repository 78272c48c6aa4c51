// Where results go. Files are made and replaced so that no link that was planted there leads to a file of another user.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// The directory of an output. It is opened once, and every name is looked up in it alone. On the way to it only
/// symbolic links of root and of the running user are followed; in it, none.
class OutputDirectory {
public:
    /// The directory in which `path` lies; relative paths start at the working directory. The Error is a reason without
    /// the path: "No such file or directory".
    static Result<OutputDirectory> of(std::string_view path);

    /// Why the file with this name must not be touched: "is a symbolic link". Empty if there is none, or if it is a
    /// regular file of the running user that not every user may write.
    std::string obstacle(const std::string& name) const;
    /// As lstat(2).
    bool status(const std::string& name, struct stat& status) const;
    /// A new file, open for reading and writing, with `mode` less the umask. On failure errno is EEXIST if the name is
    /// taken, be it by a dangling link.
    Descriptor create(const std::string& name, mode_t mode) const;
    /// A new file without a name, which nothing is left of if the process is killed; open for reading and writing. None
    /// where the file system has none (NFS, most of FUSE), or where no name could be given to it, for want of /proc.
    Descriptor create_unnamed(mode_t mode) const;
    /// Gives such a file a name: 0, or an errno; EEXIST if the name is taken.
    int link(int file, const std::string& name) const;
    /// Opens the file with this name, with open(2)'s `flags`; never through a link.
    Descriptor open(const std::string& name, int flags) const;
    /// 0, or an errno. Check obstacle(to) before.
    int rename(const std::string& from, const std::string& to) const;
    void remove(const std::string& name) const;
    /// Gives it a name in `to` that nothing has; false with errno: EEXIST, or ENOTEMPTY for a directory, if it is
    /// taken.
    bool rename_to_unused(const std::string& from, const OutputDirectory& to, const std::string& name) const;
    /// The directory with this name in it, never through a link; an Error with errno.
    Result<OutputDirectory> directory_in(const std::string& name) const;
    /// Whose a file is that this process makes in it: not the running user's on a file system that has one user only,
    /// such as vfat, and some network ones. The running user where none can be made.
    uid_t owner_of_new() const;
    /// Whether only its owner may create files in it.
    bool is_private() const;

    /// Opens the file with this name to add lines to it: one of the running user that no other user may write, made if
    /// there is none. The Error is a reason without the name.
    Result<Descriptor> open_for_append(const std::string& name) const;

    /// For openat(2) and the like; opened with O_PATH.
    int descriptor() const { return directory_.get(); }
    /// An errno; 0: a file can be made and written.
    int failure_to_write() const;

protected:
    explicit OutputDirectory(Descriptor directory) : directory_(std::move(directory)) {}

private:
    Descriptor made_for_trial() const;

    Descriptor directory_;
};

/// `stem`, or STEM.2, STEM.3, ...: the names that are tried one after another.
std::string numbered(const std::string& stem, unsigned number);
/// A name that nobody can foresee: 12 hexadecimal digits.
std::string chance_name();
/// What follows the last '/'.
std::string last_name(std::string_view path);
/// Root, also the one outside of this user namespace, or the running user.
bool is_trusted_owner(uid_t owner);
/// " of user 1000"; empty if it is the running user's.
std::string whose(const struct stat& file);
/// Whether the two are one file.
bool same_file(const struct stat& one, const struct stat& other);
/// What to do where obstacle() names something.
inline constexpr const char* remedy_for_obstacle = "; remove it, or choose another place";

/// The same where a file or folder cannot be made, by errno.
std::string remedy_for_failure(int error);

/// OutputDirectory::open_for_append() for a path, which may also be /dev/null, /dev/tty, /dev/stdout or /dev/stderr.
Result<Descriptor> open_for_append(const std::string& path);

}  // namespace flameprobe
