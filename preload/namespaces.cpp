// A process of several threads may not enter another user namespace (unshare(2), setns(2): EINVAL), and for the kernel
// the collector is one of them: it leaves while the host does so, and comes back afterwards.
#include <errno.h>
#include <sched.h>

#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

int (*next_unshare)(int) = nullptr;
int (*next_setns)(int, int) = nullptr;

constexpr int for_single_threads = CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;

class WithoutCollector {
public:
    explicit WithoutCollector(bool wanted) : core_(wanted ? core_if_loaded() : nullptr) {
        if (core_ != nullptr && core_->step_aside(aside_if_alone) == 0) core_ = nullptr;
    }
    ~WithoutCollector() {
        const int saved = errno;
        if (core_ != nullptr) core_->come_back();
        errno = saved;
    }
    WithoutCollector(const WithoutCollector&) = delete;
    WithoutCollector& operator=(const WithoutCollector&) = delete;

private:
    const flameprobe_core* core_;
};

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int unshare(int flags) noexcept {
    const WithoutCollector away((flags & for_single_threads) != 0);
    return next(next_unshare, "unshare")(flags);
}

// 0 stands for any kind of namespace.
FLAMEPROBE_INTERPOSED int setns(int descriptor, int kind) noexcept {
    const WithoutCollector away(kind == 0 || (kind & CLONE_NEWUSER) != 0);
    return next(next_setns, "setns")(descriptor, kind);
}
