#include "session/run_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "base/paths.hpp"
#include "base/proc.hpp"
#include "profile/format.hpp"
#include "session/family.hpp"

namespace flameprobe {
namespace {

constexpr unsigned most_numbers = 100000;
constexpr unsigned most_of_others = 100;  // names that others have taken: then one that nobody can foresee is used

Error cannot_make(const std::string& folder, int error, const std::string& why) {
    return Error{folder + " cannot be created: " + why + remedy_for_failure(error)};
}

/// The folder of a run whose first process has become this user is his.
uid_t user_of_first_process() { return effective_user_of("/proc/" + std::to_string(family().pid)).value_or(no_user); }

}  // namespace

/// The run's folder, if it has this name.
std::optional<RunDirectory> RunFolder::open_at(const std::string& stem) const {
    auto found = RunDirectory::at(stem + ".run");
    if (!found) found = RunDirectory::at(stem + ".run", user_of_first_process());
    if (!found || !*found || (*found)->mark() != mark_) return std::nullopt;
    return std::move(*found);
}

// A process that runs as another user than the folder's, and could not make its profile before, needs one of its own.
std::optional<RunDirectory> RunFolder::enter(const std::string& stem) {
    auto folder = open_at(stem);
    if (!folder) return folder;
    const bool writable = ::faccessat(folder->descriptor(), ".", W_OK | X_OK, 0) == 0;
    apart_ = apart_ || !writable;
    if (!writable) return std::nullopt;
    stem_ = stem;
    return folder;
}

bool RunFolder::find() {
    if (!stem_.empty() && enter(stem_)) return true;
    const auto parent = OutputDirectory::of(wanted_);
    const std::string name = last_name(wanted_);
    struct stat found {};
    const auto is_there = [&](const std::string& file) { return parent->status(file, found); };
    unsigned of_others = 0;
    for (unsigned number = 1; parent && number < most_numbers && of_others < most_of_others; ++number) {
        const std::string candidate = numbered(name, number);
        if (!is_there(candidate + ".run") && !is_there(candidate + ".fprobe")) return false;
        if (enter(numbered(wanted_, number))) return true;
        if (found.st_uid != ::geteuid()) ++of_others;
    }
    return parent && find_unforeseen(*parent, name);
}

/// See make().
bool RunFolder::find_unforeseen(const OutputDirectory& parent, const std::string& name) {
    const std::string begin = name + ".", end = ".run";
    for (const std::string& other : names_in(parent.descriptor()).value_or(std::vector<std::string>()))
        if (other.starts_with(begin) && other.ends_with(end) &&
            enter(std::string(directory_of(wanted_)) + other.substr(0, other.size() - end.size())))
            return true;
    return false;
}

void RunFolder::avoid(const std::string& name, const std::string& why) {
    if (avoided_.empty()) avoided_ = name + " " + why;
}

/// Whether something has the folder's name that is not the run's.
bool RunFolder::is_in_use(const std::string& stem, unsigned& of_others) {
    const std::string folder = stem + ".run";
    const auto found = RunDirectory::at(folder);
    if (!found) return avoid(folder, found.error().message), ++of_others, true;
    if (*found && (*found)->is_anothers() && (*found)->mark() != mark_)
        avoid(folder, "belongs to user " + std::to_string((*found)->user()));
    return found->has_value();
}

/// The first process may have had another program before, whose end made the result so far. A result begins with a
/// process's run record, which has the mark.
bool RunFolder::is_of_ours(const Descriptor& result) const {
    std::string head(format::full_block_payload, '\0');
    const ssize_t got = ::pread(result.get(), head.data(), head.size(), 0);
    return got > 0 && std::string_view(head.data(), static_cast<std::size_t>(got)).find(mark_) != head.npos;
}

/// Whether the profile may take this name: another run's that was written since this one began is kept too.
bool RunFolder::may_use(const std::string& stem, const OlderResults& older) {
    const auto directory = OutputDirectory::of(stem);
    const std::string name = last_name(stem + ".fprobe");
    struct stat found {};
    if (!directory || !directory->status(name, found)) return true;  // making the folder tells what is wrong
    const std::string obstacle = directory->obstacle(name);
    if (!obstacle.empty()) return avoid(stem + ".fprobe", obstacle), false;
    return older.give_way(found) || (older.grows && is_of_ours(directory->open(name, O_RDONLY)));
}

// Who takes all names that can be foreseen cannot take the next.
Result<RunDirectory> RunFolder::make(const OlderResults& older) {
    if (find()) {
        if (auto entered = open()) return std::move(*entered);
    }
    unsigned of_others = 0;
    for (unsigned number = 1; number < most_numbers; ++number) {
        const std::string stem = of_others < most_of_others ? numbered(wanted_, number) : wanted_ + "." + chance_name();
        if (is_in_use(stem, of_others)) {
            if (auto entered = enter(stem)) return std::move(*entered);  // another process of the run was faster
            continue;
        }
        if (!may_use(stem, older)) continue;
        auto made = RunDirectory::make(stem + ".run", mark_);
        if (!made) return cannot_make(stem + ".run", errno, made.error().message);
        if (!*made) *made = enter(stem);
        if (!*made) continue;
        stem_ = stem;
        if (!avoided_.empty()) avoided_ += ": the results are " + stem_ + ".*";
        return std::move(**made);
    }
    return cannot_make(wanted_ + ".run", EEXIST, "all names are taken");
}

void RunFolder::give_to(uid_t user) const {
    if (const auto folder = open()) folder->give_to(user);
}

void RunFolder::remove_if_empty() const {
    if (const auto folder = open()) folder->remove_if([](const std::string&) { return false; });
}

std::string RunFolder::give_out_only() const {
    const auto folder = open();
    const std::vector<std::string> names = folder ? folder->profiles() : std::vector<std::string>();
    const std::string result = stem_ + ".fprobe";
    const auto directory = OutputDirectory::of(result);
    const bool is_out = names.empty() && directory && is_of_ours(directory->open(last_name(result), O_RDONLY));
    if (!is_out && (names.size() != 1 || folder->has_growing() || !folder->move_out(names.front(), result)))
        return path();
    remove_if_empty();
    return result;
}

bool RunFolder::drawn() const {
    const auto folder = open();
    return folder && folder->is_drawn();
}

bool RunFolder::has_living() const {
    const auto folder = open();
    return folder && folder->has_growing();
}

}  // namespace flameprobe
