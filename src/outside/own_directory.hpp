// A directory in which a tool may delete, and write below: no other user can have put anything there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/output_directory.hpp"

namespace flameprobe {

/// A directory of the running user that no other user may write. Checked on the descriptor that all else goes through,
/// so that it does not matter who may write the directories above it. Names in it are never followed as links.
class OwnDirectory : public OutputDirectory {
public:
    /// The directory `path`. Errors are a reason without the path: "belongs to another user, ...".
    static Result<OwnDirectory> open(std::string_view path);
    using OutputDirectory::open;
    /// Makes it first, and those above it, if it is missing.
    static Result<OwnDirectory> make(std::string_view path);

    /// A directory in this one; the path may lead through several, each of which has to be the user's own.
    Result<OwnDirectory> enter(std::string_view path) const;
    Result<OwnDirectory> make_in(std::string_view path) const;

    /// Deletes what has this name, a directory with all that is in it; good if there is nothing. An Error, with the
    /// name first, where a directory in it is not the user's own.
    Result<void> remove_tree(const std::string& name) const;
    /// Likewise all that is in it.
    Result<void> clear() const;
    bool is_empty() const { return names().empty(); }

private:
    explicit OwnDirectory(OutputDirectory directory) : OutputDirectory(std::move(directory)) {}
    explicit OwnDirectory(Descriptor directory) : OutputDirectory(std::move(directory)) {}
    std::vector<std::string> names() const;
    Result<OwnDirectory> way(std::string_view path, bool make) const;
};

}  // namespace flameprobe
