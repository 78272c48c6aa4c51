// A server that starts as root and then becomes somebody else may lose the right to create files where its results
// belong. Its result file is created before; the collector keeps it open, and takes the host's new user itself.
#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

#include "core.hpp"
#include "interpose.hpp"

namespace flameprobe {
namespace {

void secure() noexcept {
    if (const flameprobe_core* core = core_if_loaded()) core->secure();
}

/// The collector, which may be a task of its own, must not keep rights that the host has given up.
int followed(int result) noexcept {
    const int saved = errno;
    if (const flameprobe_core* core = core_if_loaded()) core->follow_credentials();
    errno = saved;
    return result;
}

int (*next_setuid)(uid_t) = nullptr;
int (*next_seteuid)(uid_t) = nullptr;
int (*next_setreuid)(uid_t, uid_t) = nullptr;
int (*next_setresuid)(uid_t, uid_t, uid_t) = nullptr;

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int setuid(uid_t uid) noexcept {
    secure();
    return followed(next(next_setuid, "setuid")(uid));
}
FLAMEPROBE_INTERPOSED int seteuid(uid_t uid) noexcept {
    secure();
    return followed(next(next_seteuid, "seteuid")(uid));
}
FLAMEPROBE_INTERPOSED int setreuid(uid_t real, uid_t effective) noexcept {
    secure();
    return followed(next(next_setreuid, "setreuid")(real, effective));
}
FLAMEPROBE_INTERPOSED int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
    secure();
    return followed(next(next_setresuid, "setresuid")(real, effective, saved));
}
