// The folder in which the profiles of a run's processes grow, beside where its result will be.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/output_directory.hpp"
#include "base/result.hpp"
#include "collect/profile_file.hpp"
#include "profile/run_directory.hpp"

namespace flameprobe {

/// <stem>.run, found or made by whichever process of the run has something to write first. The collector thread only.
class RunFolder {
public:
    /// `stem`: where the results go; `mark`: what the run's processes have in common (Family::mark).
    RunFolder(std::string stem, std::string mark) : wanted_(std::move(stem)), mark_(std::move(mark)) {}

    /// False: there is none (yet).
    bool find();
    /// Finds or makes it. The results get another name, STEM.2, ..., where STEM is another run's, or where `older`
    /// keeps what is there, or where something stands in the way that is not to be replaced (see avoided()).
    Result<RunDirectory> make(const OlderResults& older);
    /// Makes it another user's, with what this process's user has in it.
    void give_to(uid_t user) const;
    void remove_if_empty() const;
    /// Where the program that draws has not done so: a profile that is the only one becomes the result, STEM.fprobe, if
    /// it has not yet. Gives the path of what there is.
    std::string give_out_only() const;

    /// STEM of the results, after find() or make().
    const std::string& stem() const { return stem_; }
    std::string path() const { return stem_ + ".run"; }
    /// Opens it, after find() or make(); nothing if it is no more.
    std::optional<RunDirectory> open() const { return stem_.empty() ? std::nullopt : open_at(stem_); }
    /// Whether the run has another folder, of another user: then the first process does not draw what is in this one.
    bool is_apart() const { return apart_; }
    /// Whether the result has been drawn at the end of the first process.
    bool drawn() const;
    /// Whether a profile in it is being written: a process of the run lives that was sampled. The caller's own must be
    /// closed.
    bool has_living() const;
    /// A sentence on what stood in the way under the results' name; empty if nothing did.
    const std::string& avoided() const { return avoided_; }

private:
    std::optional<RunDirectory> open_at(const std::string& stem) const;
    std::optional<RunDirectory> enter(const std::string& stem);
    bool find_unforeseen(const OutputDirectory& parent, const std::string& name);
    bool is_in_use(const std::string& stem, unsigned& of_others);
    bool is_of_ours(const Descriptor& result) const;
    bool may_use(const std::string& stem, const OlderResults& older);
    void avoid(const std::string& name, const std::string& why);

    std::string wanted_, mark_, stem_, avoided_;
    bool apart_ = false;
};

}  // namespace flameprobe
