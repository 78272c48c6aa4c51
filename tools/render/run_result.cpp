#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "base/descriptor.hpp"
#include "base/number.hpp"
#include "base/output_directory.hpp"
#include "base/proc.hpp"
#include "base/result.hpp"
#include "export/output_file.hpp"
#include "outside/processes.hpp"
#include "process_tree.hpp"
#include "profile/format.hpp"
#include "profile/run_files.hpp"
#include "profile_pictures.hpp"
#include "render/run_facts.hpp"
#include "session/run_folder.hpp"
#include "symbolize/load_steps.hpp"

namespace flameprobe {

namespace {

namespace fs = std::filesystem;

using Identity = std::pair<std::uint32_t, std::uint64_t>;

Identity identity_of(const ProcessPart& part) { return {part.run.pid, part.run.start_unix_ns}; }

bool is_empty(const std::string& path) {
    std::error_code error;
    return fs::file_size(path, error) == 0 && !error;
}

/// Processes of this run that an earlier result has.
std::vector<ProcessPart> earlier_result(const std::string& path, const std::string& mark) {
    if (::access(path.c_str(), F_OK) != 0) return {};
    auto parts = processes_of(path);
    if (!parts) return {};
    std::erase_if(*parts, [&](const ProcessPart& part) { return part.run.mark != mark; });
    return std::move(*parts);
}

/// Whether the older file at the new one's name was made private by the user, in which case so is the new one.
mode_t rights_at(const OutputDirectory& directory, const std::string& name, mode_t rights) {
    struct stat older {};
    return directory.status(name, older) ? rights & older.st_mode : rights;
}

/// The collector of a process that was killed sees that a moment later, and writes the rest. Where the pid is that of
/// another pid namespace, this waits to no purpose.
void wait_for_the_rest(const std::string& profile) {
    constexpr int most_looks = 50;
    const std::string stem = profile.substr(0, profile.rfind(".fprobe"));
    const auto pid = number_in<pid_t>(std::string_view(stem).substr(stem.rfind('.') + 1));
    for (int looks = 0; pid && looks < most_looks && is_growing(profile) && !is_running(*pid); ++looks)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// Gives the only profile of a run, which nobody writes any more, the result's name: nothing has to be copied. False:
/// it is as it was, but for what `part.more` says.
bool become_result(const ProcessPart& part, const std::string& result) {
    const auto from = OutputDirectory::of(part.path), to = OutputDirectory::of(result);
    const std::string before = last_name(part.path), name = last_name(result);
    struct stat found {};
    if (!from || !to || !to->obstacle(name).empty() || is_growing(part.path)) return false;
    const Descriptor file = from->open(before, O_WRONLY | O_APPEND);
    if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != ::geteuid() ||
        found.st_nlink != 1 || static_cast<std::uint64_t>(found.st_size) != part.end)
        return false;
    const auto more = static_cast<ssize_t>(part.more.size());
    if (more != 0 && ::write(file.get(), part.more.data(), part.more.size()) != more) {
        [[maybe_unused]] const int cut = ::ftruncate(file.get(), found.st_size);
        return false;
    }
    constexpr mode_t all = 07777;
    (void)::fchmod(file.get(), rights_at(*to, name, found.st_mode & all));
    return ::renameat(from->descriptor(), before.c_str(), to->descriptor(), name.c_str()) == 0;
}

class Writer {
public:
    Writer(const std::string& folder, const ResultOptions& options)
        : folder_(folder), stem_(folder.substr(0, folder.rfind(".run"))), options_(options) {}
    ResultMessages write();

private:
    Descriptor hold() const;
    std::vector<ProcessPart> gather();
    bool write_profile(const std::vector<ProcessPart>& parts);
    void draw(const std::vector<ProcessPart>& parts);
    void problem(std::string text) { messages_.problems.push_back(std::move(text)); }

    const std::string folder_, stem_;
    const ResultOptions& options_;
    std::set<std::string> read_;  // profiles that the result has as a whole
    ResultMessages messages_;
};

/// What is in the folder, and of an earlier result what is not.
std::vector<ProcessPart> Writer::gather() {
    std::vector<ProcessPart> all;
    std::set<Identity> known;
    for (const std::string& name : profiles_in_run(folder_)) {
        const std::string path = folder_ + "/" + name;
        wait_for_the_rest(path);
        // Of one that grows now, and is complete when the folder is to be removed, the result has a part only.
        if (!is_growing(path)) read_.insert(name);
        if (is_empty(path)) continue;
        auto parts = processes_of(path);
        if (!parts) {
            problem(parts.error().message);
            continue;
        }
        for (ProcessPart& part : *parts) {
            if (add_build_facts(part.run, part.executable ? &*part.executable : nullptr))
                part.more = run_block(part.run);
            known.insert(identity_of(part));
            all.push_back(std::move(part));
        }
    }
    const std::string mark = read_small_file((folder_ + "/" + run_owner).c_str()).value_or("");
    for (ProcessPart& part : earlier_result(stem_ + ".fprobe", mark))
        if (!known.contains(identity_of(part))) all.push_back(std::move(part));
    std::stable_sort(all.begin(), all.end(), [](const ProcessPart& a, const ProcessPart& b) {
        return std::tie(a.run.start_unix_ns, a.run.pid) < std::tie(b.run.start_unix_ns, b.run.pid);
    });
    return all;
}

bool Writer::write_profile(const std::vector<ProcessPart>& parts) {
    const bool is_whole = parts.size() == 1 && parts.front().begin == format::magic.size();
    if (is_whole && fs::path(parts.front().path).parent_path() == folder_ &&
        become_result(parts.front(), stem_ + ".fprobe")) {
        read_.erase(last_name(parts.front().path));  // what has that name from now on is another
        return true;
    }
    OutputFile file(stem_ + ".fprobe");
    if (!file.failed()) {
        const auto copied = write_processes(parts, [&file](std::string_view piece) { file.write(piece); });
        if (!copied) return problem(copied.error().message), false;
    }
    if (const auto done = file.commit(); !done) {
        problem(done.error().message + " (the profiles are safe in " + folder_ + ")");
        return false;
    }
    return true;
}

void Writer::draw(const std::vector<ProcessPart>& parts) {
    ResultOptions options = options_;
    options.parts = &parts;
    draw_profile(stem_ + ".fprobe", stem_, options, messages_);
}

/// Locks the owner's file in the run's folder, so that no other drawing process writes the run's results meanwhile.
/// The folder may have been removed, and made anew, while this waited for the lock: then the file is another.
Descriptor Writer::hold() const {
    const std::string path = folder_ + "/" + run_owner;
    for (;;) {
        Descriptor owner(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        struct stat held {
        }, named{};
        if (!owner || ::flock(owner.get(), LOCK_EX) != 0 || ::fstat(owner.get(), &held) != 0) return owner;
        if (::lstat(path.c_str(), &named) != 0) return {};
        if (same_file(held, named)) return owner;
    }
}

ResultMessages Writer::write() {
    const Descriptor owner = hold();
    if (!owner) {  // another process has done it, or this one's user may not
        if (errno != ENOENT)
            problem(folder_ + ": " + error_text(errno) + "; who may read it draws it: flameprobe-render " + folder_ +
                    " -o " + stem_ + ".html");
        return std::move(messages_);
    }
    // Before looking for processes that go on: one that ends now sees it, or is seen ended.
    if (const auto inside = OutputDirectory::of(folder_ + "/")) inside->create(run_drawn, 0644);
    const std::vector<ProcessPart> parts = gather();
    if (!parts.empty()) {
        if (!write_profile(parts)) return messages_.failed = true, std::move(messages_);
        const bool sampled =
            std::any_of(parts.begin(), parts.end(), [](const ProcessPart& part) { return part.has_samples; });
        if (sampled && !options_.formats.empty()) draw(parts);
    }
    const auto is_read = [this](const std::string& name) { return read_.contains(name); };
    remove_run_folder(folder_, is_read);
    if (is_anothers(folder_) && std::ranges::all_of(profiles_in_run(folder_), is_read))
        problem(folder_ + " stays, since it is another user's; the result has all that is in it");
    return std::move(messages_);
}

}  // namespace

ResultMessages write_run_result(const std::string& folder, const ResultOptions& options) {
    return Writer(folder, options).write();
}

}  // namespace flameprobe
