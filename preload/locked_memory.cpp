// A host may lock as much memory as without FlameProbe (session/host_resources.hpp).
#include <errno.h>
#include <sys/mman.h>

#include "core.hpp"
#include "interpose.hpp"
#include "own_allocations.hpp"

namespace {

int (*next_mlockall)(int) = nullptr;

}  // namespace

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int mlockall(int flags) noexcept {
    const int result = next(next_mlockall, "mlockall")(flags);
    if (result == 0 || errno != ENOMEM || (flags & MCL_CURRENT) == 0) return result;
    const flameprobe_core* const core = core_if_loaded();
    const OwnAllocations own;
    if (core != nullptr && core->lock_host_memory(flags) != 0) return 0;
    errno = ENOMEM;
    return result;
}
