#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "base/descriptor.hpp"
#include "base/number.hpp"
#include "base/output_directory.hpp"
#include "base/proc.hpp"
#include "base/result.hpp"
#include "base/work_steps.hpp"
#include "export/output_file.hpp"
#include "outside/processes.hpp"
#include "process_tree.hpp"
#include "profile/format.hpp"
#include "profile/run_directory.hpp"
#include "profile_pictures.hpp"
#include "render/run_facts.hpp"
#include "session/run_folder.hpp"
#include "symbolize/load_steps.hpp"

namespace flameprobe {

namespace {

using Identity = std::pair<std::uint32_t, std::uint64_t>;

Identity identity_of(const ProcessPart& part) { return {part.run.pid, part.run.start_unix_ns}; }

/// Processes of this run that an earlier result has.
std::vector<ProcessPart> earlier_result(const std::string& path, const std::string& mark) {
    auto directory = OutputDirectory::of(path);
    struct stat found {};
    const std::string name = last_name(path);
    if (!directory || !directory->status(name, found) || !directory->obstacle(name).empty()) return {};
    auto parts = processes_of(path, std::make_shared<const OutputDirectory>(std::move(*directory)));
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
void wait_for_the_rest(const RunDirectory& folder, const std::string& profile) {
    constexpr int most_looks = 50;
    const std::string stem = profile.substr(0, profile.rfind(".fprobe"));
    const auto pid = number_in<pid_t>(std::string_view(stem).substr(stem.rfind('.') + 1));
    for (int looks = 0; pid && looks < most_looks && folder.is_growing(profile) && !is_running(*pid); ++looks)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// Gives the only profile of a run, which nobody writes any more, the result's name: nothing has to be copied. False:
/// it is as it was, but for what `part.more` says.
bool become_result(const RunDirectory& from, const ProcessPart& part, const std::string& result) {
    const auto to = OutputDirectory::of(result);
    const std::string before = last_name(part.path), name = last_name(result);
    struct stat found {};
    if (!to || !to->obstacle(name).empty() || from.is_growing(before)) return false;
    const Descriptor file = from.open(before, O_WRONLY | O_APPEND);
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
    return ::renameat(from.descriptor(), before.c_str(), to->descriptor(), name.c_str()) == 0;
}

class Writer {
public:
    Writer(std::shared_ptr<const RunDirectory> folder, const std::string& path, const ResultOptions& options)
        : folder_(std::move(folder)), path_(path), stem_(path.substr(0, path.rfind(".run"))), options_(options) {}
    /// The folder is locked.
    ResultMessages write();

private:
    std::vector<ProcessPart> gather();
    bool write_profile(const std::vector<ProcessPart>& parts);
    void draw(const std::vector<ProcessPart>& parts);
    void problem(std::string text) { messages_.problems.push_back(std::move(text)); }

    const std::shared_ptr<const RunDirectory> folder_;
    const std::string path_, stem_;
    const ResultOptions& options_;
    std::set<std::string> read_;  // profiles that the result has as a whole
    ResultMessages messages_;
};

/// What is in the folder, and of an earlier result what is not.
std::vector<ProcessPart> Writer::gather() {
    std::vector<ProcessPart> all;
    std::set<Identity> known;
    for (const std::string& name : folder_->profiles()) {
        wait_for_the_rest(*folder_, name);
        const bool grows = folder_->is_growing(name);
        struct stat found {};
        const bool is_empty = folder_->status(name, found) && S_ISREG(found.st_mode) && found.st_size == 0;
        auto parts = is_empty ? std::vector<ProcessPart>() : processes_of(path_ + "/" + name, folder_);
        // Of one that grows now, and is complete when the folder is to be removed, the result has a part only.
        if (!grows && parts) read_.insert(name);
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
    for (ProcessPart& part : earlier_result(stem_ + ".fprobe", folder_->mark()))
        if (!known.contains(identity_of(part))) all.push_back(std::move(part));
    std::stable_sort(all.begin(), all.end(), [](const ProcessPart& a, const ProcessPart& b) {
        return std::tie(a.run.start_unix_ns, a.run.pid) < std::tie(b.run.start_unix_ns, b.run.pid);
    });
    return all;
}

bool Writer::write_profile(const std::vector<ProcessPart>& parts) {
    const bool is_whole = parts.size() == 1 && parts.front().begin == format::magic.size();
    if (is_whole && parts.front().in == folder_ && become_result(*folder_, parts.front(), stem_ + ".fprobe")) {
        read_.erase(last_name(parts.front().path));  // what has that name from now on is another
        return true;
    }
    OutputFile file(stem_ + ".fprobe");
    if (!file.failed()) {
        const auto copied = write_processes(parts, [&file](std::string_view piece) { file.write(piece); });
        if (!copied) return problem(copied.error().message), false;
    }
    if (const auto done = file.commit(); !done) {
        problem(done.error().message + " (the profiles are safe in " + path_ + ")");
        return false;
    }
    return true;
}

void Writer::draw(const std::vector<ProcessPart>& parts) {
    ResultOptions options = options_;
    options.parts = &parts;
    draw_profile(stem_ + ".fprobe", stem_, options, messages_);
}

ResultMessages Writer::write() {
    // Before looking for processes that go on: one that ends now sees it, or is seen ended.
    folder_->mark_drawn();
    const std::vector<ProcessPart> parts = gather();
    if (!parts.empty()) {
        if (!write_profile(parts)) return messages_.failed = true, std::move(messages_);
        const bool sampled =
            std::any_of(parts.begin(), parts.end(), [](const ProcessPart& part) { return part.has_samples; });
        if (sampled && !options_.formats.empty()) draw(parts);
    }
    const auto is_read = [this](const std::string& name) { return read_.contains(name); };
    folder_->remove_if(is_read);
    if (folder_->is_anothers() && std::ranges::all_of(folder_->profiles(), is_read))
        problem(path_ + " stays, since it is another user's; the result has all that is in it");
    return std::move(messages_);
}

/// While it lives, each step of the work is told to who waits for the run's lock.
class SignsOfLife {
public:
    explicit SignsOfLife(int lock) : before_(after_work_step.load()) {
        lock_ = lock;
        next_ = before_;
        after_work_step = [] {
            if (lock_ >= 0) ::futimens(lock_, nullptr);
            if (auto* const next = next_.load()) next();
        };
    }
    ~SignsOfLife() { after_work_step = before_; }
    SignsOfLife(const SignsOfLife&) = delete;
    SignsOfLife& operator=(const SignsOfLife&) = delete;

private:
    static inline constinit std::atomic<int> lock_{-1};
    static inline constinit std::atomic<void (*)()> next_{nullptr};
    void (*const before_)();
};

ResultMessages not_drawn(const std::string& folder, const std::string& why) {
    const std::string stem = folder.substr(0, folder.rfind(".run"));
    ResultMessages messages;
    messages.problems = {folder + why + "; who may read it draws it: flameprobe-render " + folder + " -o " + stem +
                         ".html"};
    return messages;
}

}  // namespace

ResultMessages write_run_result(const std::string& folder, const ResultOptions& options) {
    for (;;) {
        auto found = RunDirectory::at(folder);
        if (!found) return not_drawn(folder, " " + found.error().message);
        if (!*found) return {};  // another process has done it
        const auto run = std::make_shared<const RunDirectory>(std::move(**found));
        const auto lock = run->lock();
        if (!lock && errno != ENOENT) return not_drawn(folder, ": " + lock.error().message);
        // While this waited for the lock, the folder may have been removed, and made anew.
        if (!run->is_at(folder)) continue;
        const SignsOfLife signs(lock ? lock->get() : -1);
        return Writer(run, folder, options).write();
    }
}

}  // namespace flameprobe
