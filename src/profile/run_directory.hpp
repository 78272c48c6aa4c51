// The folder of a run (<out>.run), for those who write into it and those who draw it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/output_directory.hpp"
#include "base/result.hpp"

namespace flameprobe {

inline constexpr auto no_user = static_cast<uid_t>(-1);

/// The folder, open. No user besides its own can have put anything into it: that is asked of the descriptor, and all
/// below goes through the descriptor too. So it does not matter who may write the directory in which it lies.
class RunDirectory : public OutputDirectory {
public:
    /// Opens the folder at `path`, of the running user, of root or of `also`. Nothing: there is none. The Error is a
    /// reason without the path: "is a symbolic link of user 1000, which is not followed".
    static Result<std::optional<RunDirectory>> at(const std::string& path, uid_t also = no_user);
    /// Makes it, under a name that nobody can foresee, and gives it its own once it has its `mark`, so that nobody
    /// finds one without. Nothing: something has that name. The Error is a reason without the path.
    static Result<std::optional<RunDirectory>> make(const std::string& path, const std::string& mark);
    /// As long as the longest name that it has on its way, beside `path`.
    static std::string longest_name(const std::string& path);

    /// What the run's processes have in common; empty where it cannot be read.
    std::string mark() const;
    /// Marks that the first process has ended.
    void mark_drawn() const;
    bool is_drawn() const;
    /// The names of the profiles in it, sorted; nothing, if it cannot be read.
    std::optional<std::vector<std::string>> list_profiles() const;
    std::vector<std::string> profiles() const { return list_profiles().value_or(std::vector<std::string>()); }
    /// Whether a process is writing this profile: it holds the file's lock (base/write_lock.hpp).
    bool is_growing(const std::string& name) const;
    /// Whether one of them is growing.
    bool has_growing() const;

    /// The lock of who draws the run, in a file that only the folder's user can open. Waits until no other process has
    /// it, for 4 s at most in which its time does not change (futimens(2)). Where it is_anothers(), nothing is locked.
    Result<Descriptor> lock() const;
    /// Whether that path leads here still: it is not being removed.
    bool is_at(const std::string& path) const;

    uid_t user() const { return user_; }
    /// Whether this process may not change what is in it.
    bool is_anothers() const;
    /// Makes it another user's, with all that is in it.
    void give_to(uid_t user) const;
    /// Moves the profile to a path outside of it where there is nothing.
    bool move_out(const std::string& name, const std::string& to) const;
    /// Removes it with its profiles, if each of them `is_done` and does not grow. It gets another name first: a process
    /// that begins a profile meanwhile, and one that goes on, get theirs back. One that is_anothers() stays.
    void remove_if(const std::function<bool(const std::string& name)>& is_done) const;

private:
    RunDirectory(OutputDirectory directory, std::string path, uid_t user)
        : OutputDirectory(std::move(directory)), path_(std::move(path)), user_(user) {}
    static Result<RunDirectory> open_in(const OutputDirectory& parent, const std::string& name, std::string path,
                                        uid_t also);
    bool write_mark(const std::string& mark) const;
    bool remove_from(const OutputDirectory& parent, const std::string& name,
                     const std::function<bool(const std::string& name)>& stays) const;
    static void remove_leftovers(const OutputDirectory& parent, const std::string& beginning);
    bool has_name(const OutputDirectory& parent, const std::string& name) const;

    std::string path_;
    uid_t user_;
};

/// The mark in anybody's folder, which may be forged.
std::string mark_in_run(const std::string& folder);

}  // namespace flameprobe
