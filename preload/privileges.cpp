// A server that starts as root and then becomes another user may lose the right to create files where its results
// belong. Its result file is created before; the collector keeps it open, and takes the host's new user itself. Where
// the change is for good, the run's folder becomes the new user's.
#include <errno.h>
#include <grp.h>
#include <sys/types.h>
#include <unistd.h>

#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

constexpr auto not_known = static_cast<uid_t>(-1);

/// Lives during a change of the user or group. libc makes the change in every thread, and ends the process if it fails
/// in one and not in another: so a collector's thread with other capabilities than the caller's (PR_SET_KEEPCAPS,
/// capset) ends for that time. A collector that is a task follows the change, since it must not keep rights that the
/// host has given up.
class Change {
public:
    /// `user`: who the process will be for good.
    explicit Change(uid_t user = not_known) noexcept : core_(core_if_loaded()) {
        if (core_ == nullptr) return;
        core_->becomes_user(user);
        away_ = core_->step_aside(aside_if_unequal) != 0;
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

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

#define FLAMEPROBE_CHANGES_USER(name, parameters, arguments, ...) \
    FLAMEPROBE_INTERPOSED int name parameters {                   \
        static int(*next_one) parameters = nullptr;               \
        const Change change{__VA_ARGS__};                         \
        return next(next_one, #name) arguments;                   \
    }

FLAMEPROBE_CHANGES_USER(setuid, (uid_t uid) noexcept, (uid), uid)
FLAMEPROBE_CHANGES_USER(seteuid, (uid_t uid) noexcept, (uid))
FLAMEPROBE_CHANGES_USER(setreuid, (uid_t real, uid_t effective) noexcept, (real, effective),
                        real == effective ? real : not_known)
FLAMEPROBE_CHANGES_USER(setresuid, (uid_t real, uid_t effective, uid_t saved) noexcept, (real, effective, saved),
                        real == effective && real == saved ? real : not_known)
FLAMEPROBE_CHANGES_USER(setgid, (gid_t gid) noexcept, (gid))
FLAMEPROBE_CHANGES_USER(setegid, (gid_t gid) noexcept, (gid))
FLAMEPROBE_CHANGES_USER(setregid, (gid_t real, gid_t effective) noexcept, (real, effective))
FLAMEPROBE_CHANGES_USER(setresgid, (gid_t real, gid_t effective, gid_t saved) noexcept, (real, effective, saved))
FLAMEPROBE_CHANGES_USER(setgroups, (size_t count, const gid_t* groups) noexcept, (count, groups))
FLAMEPROBE_CHANGES_USER(initgroups, (const char* user, gid_t group), (user, group))

// The collector has a root directory of its own (sandbox/host_restrictions.hpp) from its first step on, which in a
// forked child may still be to come.
FLAMEPROBE_INTERPOSED int chroot(const char* path) noexcept {
    static int (*next_chroot)(const char*) = nullptr;
    if (const flameprobe_core* core = core_if_loaded()) core->ask(request_secure);
    return next(next_chroot, "chroot")(path);
}
