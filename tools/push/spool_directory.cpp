#include "spool_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/output_directory.hpp"
#include "base/proc.hpp"

namespace flameprobe::push {

namespace {

constexpr const char* counts_name = ".push.json";
constexpr std::time_t abandoned_after = 60;  // seconds; a program writes to its window every tenth of a second
constexpr std::string_view ending = ".fprobe";

template <class Visit>
void each_file(int directory, const Visit& visit) {
    for (const std::string& name : names_in(directory).value_or(std::vector<std::string>())) {
        struct stat status {};
        if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
            visit(name, status);
    }
}

std::vector<Window> sorted(std::vector<Window> windows) {
    std::sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) {
        return std::tie(a.written, a.name) < std::tie(b.written, b.name);
    });
    return windows;
}

void write_file(int directory, const std::string& name, const std::string& text) {
    const std::string temporary = ".new." + chance_name();  // where several users write, none takes it before
    Descriptor file(::openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return;
    const bool whole = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!whole || ::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0)
        ::unlinkat(directory, temporary.c_str(), 0);
}

}  // namespace

Result<SpoolDirectory> SpoolDirectory::open(const std::string& given, bool make) {
    const std::string path = given.substr(0, std::max<std::size_t>(given.find_last_not_of('/') + 1, 1));
    const auto above = OutputDirectory::of(path);
    if (!above) return Error{path + ": the spool cannot be opened: " + above.error().message};
    const std::string name = last_name(path);
    if (make && !name.empty() && ::mkdirat(above->descriptor(), name.c_str(), 0700) != 0 && errno != EEXIST)
        return Error{path + ": the spool cannot be created: " + error_text(errno)};
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Descriptor directory(::openat(above->descriptor(), name.empty() ? "." : name.c_str(), flags));
    struct stat status {};
    if (!directory || ::fstat(directory.get(), &status) != 0)
        return Error{path + ": the spool cannot be opened: " + error_text(errno)};
    const bool shared = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        return Error{path + ": the spool belongs to another user; give one of your own"};
    if (shared && (status.st_mode & S_ISVTX) == 0)
        return Error{path + ": other users can rename files in the spool; chmod 700 it, or 1770 for a group"};
    return SpoolDirectory(given, std::move(directory));
}

/// The directory of rejected windows. Where several users may write the spool, another one may have made it first.
Descriptor SpoolDirectory::rejected() const {
    Descriptor reject(::openat(directory_.get(), "reject", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    const bool ours = reject && ::fstat(reject.get(), &status) == 0 && status.st_uid == ::geteuid() &&
                      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return ours ? std::move(reject) : Descriptor();
}

Result<void> SpoolDirectory::take_other_users() {
    struct stat status {};
    if (::fstat(directory_.get(), &status) != 0) return Error{path_ + ": " + error_text(errno)};
    if (::geteuid() != 0 && status.st_uid != ::geteuid())
        return Error{path_ +
                     ": with --other-users the spool must belong to the uploader's user, as none but it and root "
                     "may delete files of others there"};
    other_users_ = true;
    return {};
}

std::vector<Window> SpoolDirectory::windows() {
    std::vector<Window> found;
    of_other_users_ = 0;
    each_file(directory_.get(), [&](const std::string& name, const struct stat& status) {
        if (!name.ends_with(ending) || undeletable_.contains(name)) return;
        const bool hidden = name.front() == '.';
        if (hidden && std::time(nullptr) - status.st_mtim.tv_sec < abandoned_after) return;
        if (!other_users_ && status.st_uid != ::geteuid()) {
            ++of_other_users_;
            return;
        }
        found.push_back({name, static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec});
    });
    return sorted(std::move(found));
}

Result<Descriptor> SpoolDirectory::open_window(const std::string& name) const {
    Descriptor file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return Error{name + ": " + error_text(errno)};
    if (!S_ISREG(status.st_mode) || (!other_users_ && status.st_uid != ::geteuid()))
        return Error{name + ": is no file of this user"};
    return file;
}

Result<void> SpoolDirectory::remove(const std::string& name) {
    if (::unlinkat(directory_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
    undeletable_.insert(name);
    return Error{path_ + '/' + name + ": cannot be deleted: " + error_text(errno)};
}

Result<void> SpoolDirectory::reject(const std::string& name, const std::string& answer) {
    ::mkdirat(directory_.get(), "reject", 0700);
    const Descriptor reject = rejected();
    const std::string shown = name.substr(name.find_first_not_of('.'));
    if (!reject || ::renameat(directory_.get(), name.c_str(), reject.get(), shown.c_str()) != 0) return remove(name);
    write_file(reject.get(), shown + ".answer.txt", answer);
    return {};
}

void SpoolDirectory::bound(std::uint64_t most_bytes, std::chrono::seconds most_age, const std::vector<Window>& sending,
                           Counts& counts) {
    const std::time_t now = std::time(nullptr);
    std::vector<Window> all = windows();
    std::erase_if(all, [&](const Window& window) {
        return std::any_of(sending.begin(), sending.end(),
                           [&](const Window& sent) { return sent.name == window.name; });
    });
    std::uint64_t bytes = 0;
    for (const Window& window : all) bytes += window.bytes;
    for (const Window& window : all) {
        if (bytes <= most_bytes && now - window.written <= most_age.count()) break;
        bytes -= window.bytes;
        if (!remove(window.name)) continue;
        ++counts.dropped;
        counts.dropped_bytes += window.bytes;
    }
    // Rejected windows are kept only for the user to look at: they get a quarter of the room, and were counted before.
    const Descriptor reject = rejected();
    if (!reject) return;
    std::vector<Window> rejected;
    std::uint64_t rejected_bytes = 0;
    each_file(reject.get(), [&](const std::string& name, const struct stat& status) {
        rejected.push_back({name, static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec});
        rejected_bytes += rejected.back().bytes;
    });
    for (const Window& window : sorted(std::move(rejected))) {
        if (rejected_bytes <= most_bytes / 4) break;
        ::unlinkat(reject.get(), window.name.c_str(), 0);
        rejected_bytes -= window.bytes;
    }
}

Counts SpoolDirectory::read_counts() const {
    Counts counts;
    counts.since = static_cast<std::uint64_t>(std::time(nullptr));
    Descriptor file(::openat(directory_.get(), counts_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    const bool ours = file && ::fstat(file.get(), &status) == 0 && status.st_uid == ::geteuid();
    char text[4096];
    const ssize_t size = ours ? ::read(file.get(), text, sizeof text) : 0;
    const auto json = nlohmann::json::parse(text, text + std::max<ssize_t>(size, 0), nullptr, false);
    if (!json.is_object()) return counts;
    const auto number = [&](const char* name) {
        const auto value = json.find(name);
        return value != json.end() && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
    };
    counts.sent = number("sent"), counts.sent_bytes = number("sent_bytes");
    counts.requests = number("requests"), counts.retries = number("retries");
    counts.refused = number("refused"), counts.unreadable = number("unreadable");
    counts.dropped = number("dropped"), counts.dropped_bytes = number("dropped_bytes");
    if (const std::uint64_t since = number("since"); since != 0) counts.since = since;
    if (const auto error = json.find("last_error"); error != json.end() && error->is_string())
        counts.last_error = error->get<std::string>();
    return counts;
}

void SpoolDirectory::write_counts(const Counts& counts) const {
    const nlohmann::ordered_json json = {{"sent", counts.sent},
                                         {"sent_bytes", counts.sent_bytes},
                                         {"requests", counts.requests},
                                         {"retries", counts.retries},
                                         {"refused", counts.refused},
                                         {"dropped", counts.dropped},
                                         {"dropped_bytes", counts.dropped_bytes},
                                         {"unreadable", counts.unreadable},
                                         {"since", counts.since},
                                         {"last_error", counts.last_error.substr(0, 1000)}};
    write_file(directory_.get(), counts_name,
               json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace flameprobe::push
