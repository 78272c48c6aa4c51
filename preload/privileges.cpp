// A server that starts as root and then becomes another user may lose the right to create files where its results
// belong. Its result file is created before; the collector keeps it open, and takes the host's new user itself.
#include <errno.h>
#include <grp.h>
#include <sys/types.h>
#include <unistd.h>

#include "core.hpp"
#include "interpose.hpp"

namespace flameprobe {
namespace {

/// Around a change of the user or group. libc makes it for every thread, and ends the process where one fails and
/// another does not: so a collector with other capabilities than the caller (PR_SET_KEEPCAPS, capset) leaves meanwhile.
/// One that is a task of its own is told, since it must not keep rights that the host has given up.
class Change {
public:
    Change() noexcept : core_(core_if_loaded()) {
        if (core_ == nullptr) return;
        core_->ask(request_secure);
        away_ = core_->step_aside(1) != 0;
    }
    ~Change() {
        const int saved = errno;
        if (core_ != nullptr) away_ ? core_->come_back() : core_->ask(request_credentials);
        errno = saved;
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

private:
    const flameprobe_core* core_;
    bool away_ = false;
};

int (*next_setuid)(uid_t) = nullptr;
int (*next_seteuid)(uid_t) = nullptr;
int (*next_setreuid)(uid_t, uid_t) = nullptr;
int (*next_setresuid)(uid_t, uid_t, uid_t) = nullptr;
int (*next_setgid)(gid_t) = nullptr;
int (*next_setegid)(gid_t) = nullptr;
int (*next_setregid)(gid_t, gid_t) = nullptr;
int (*next_setresgid)(gid_t, gid_t, gid_t) = nullptr;
int (*next_setgroups)(size_t, const gid_t*) = nullptr;
int (*next_initgroups)(const char*, gid_t) = nullptr;

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int setuid(uid_t uid) noexcept {
    const Change change;
    return next(next_setuid, "setuid")(uid);
}
FLAMEPROBE_INTERPOSED int seteuid(uid_t uid) noexcept {
    const Change change;
    return next(next_seteuid, "seteuid")(uid);
}
FLAMEPROBE_INTERPOSED int setreuid(uid_t real, uid_t effective) noexcept {
    const Change change;
    return next(next_setreuid, "setreuid")(real, effective);
}
FLAMEPROBE_INTERPOSED int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
    const Change change;
    return next(next_setresuid, "setresuid")(real, effective, saved);
}
FLAMEPROBE_INTERPOSED int setgid(gid_t gid) noexcept {
    const Change change;
    return next(next_setgid, "setgid")(gid);
}
FLAMEPROBE_INTERPOSED int setegid(gid_t gid) noexcept {
    const Change change;
    return next(next_setegid, "setegid")(gid);
}
FLAMEPROBE_INTERPOSED int setregid(gid_t real, gid_t effective) noexcept {
    const Change change;
    return next(next_setregid, "setregid")(real, effective);
}
FLAMEPROBE_INTERPOSED int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
    const Change change;
    return next(next_setresgid, "setresgid")(real, effective, saved);
}
FLAMEPROBE_INTERPOSED int setgroups(size_t count, const gid_t* groups) noexcept {
    const Change change;
    return next(next_setgroups, "setgroups")(count, groups);
}
FLAMEPROBE_INTERPOSED int initgroups(const char* user, gid_t group) {
    const Change change;
    return next(next_initgroups, "initgroups")(user, group);
}
