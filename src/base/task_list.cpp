#include "base/task_list.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/host_process.hpp"
#include "base/proc.hpp"

namespace flameprobe {

TaskList::TaskList(const std::string& directory)
    : directory_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

std::size_t TaskList::count() const {
    struct stat state {};
    if (!directory_ || ::fstat(directory_.get(), &state) != 0 || state.st_nlink < 2) return 0;
    return state.st_nlink - 2;  // fs/proc/base.c, proc_task_getattr
}

bool TaskList::read(std::vector<std::uint32_t>& tids) const {
    tids.clear();
    if (!directory_ || ::lseek(directory_.get(), 0, SEEK_SET) != 0) return false;
    buffer_.resize(16 * 1024);
    char* const buffer = buffer_.data();
    for (;;) {
        const long got = ::syscall(SYS_getdents64, directory_.get(), buffer, buffer_.size());
        if (got < 0) return false;
        if (got == 0) break;
        for (long at = 0; at < got;) {
            const auto* const entry = reinterpret_cast<const dirent64*>(buffer + at);
            const unsigned long tid = std::strtoul(entry->d_name, nullptr, 10);
            if (tid != 0) tids.push_back(static_cast<std::uint32_t>(tid));
            at += entry->d_reclen;
        }
    }
    std::sort(tids.begin(), tids.end());
    // The numbers of another pid namespace's /proc mean other threads.
    return std::binary_search(tids.begin(), tids.end(), own_tid());
}

std::optional<std::string> TaskList::file(std::uint32_t tid, const char* name) const {
    if (!directory_) return std::nullopt;
    const std::string path = std::to_string(tid) + "/" + name;
    return read_all(Descriptor(::openat(directory_.get(), path.c_str(), O_RDONLY | O_CLOEXEC)));
}

std::string TaskList::comm(std::uint32_t tid) const {
    auto text = file(tid, "comm");
    if (!text) return {};
    if (!text->empty() && text->back() == '\n') text->pop_back();
    return std::move(*text);
}

}  // namespace flameprobe
