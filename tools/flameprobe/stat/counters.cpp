#include "counters.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "capture/known_events.hpp"

namespace flameprobe::counting {

namespace {

/// Those of known_events that `flameprobe stat` shows.
const std::vector<std::string> shown_events = {"task-clock", "cpu-migrations", "cycles",           "instructions",
                                               "branches",   "branch-misses",  "cache-references", "cache-misses"};

int open_event(const EventName& event, pid_t pid, bool user_only) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = event.type;
    attr.config = event.config;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.disabled = 1;
    attr.inherit = 1;
    attr.enable_on_exec = 1;
    attr.exclude_kernel = user_only ? 1 : 0;
    attr.exclude_hv = user_only ? 1 : 0;
    return static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string reason(int error, bool hardware) {
    if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == EINVAL)
        return hardware ? "this machine counts no such hardware event (usual in virtual machines)"
                        : "this kernel has no such event";
    if (error == EACCES || error == EPERM)
        return "not permitted: sysctl kernel.perf_event_paranoid=1 permits it, in a container --cap-add PERFMON";
    if (error == ENOSYS) return "perf_event_open is missing: a seccomp filter forbids it, or the kernel lacks it";
    return std::string("perf_event_open: ") + strerrordesc_np(error);
}

}  // namespace

EventCounters::EventCounters(pid_t pid) : EventCounters(pid, shown_events) {}

EventCounters::EventCounters(pid_t pid, const std::vector<std::string>& names) {
    for (const EventName& event : known_events) {
        if (std::find(names.begin(), names.end(), event.name) == names.end()) continue;
        Counter counter;
        counter.name = event.name;
        counter.hardware = event.type == PERF_TYPE_HARDWARE;
        counter.file = Descriptor(open_event(event, pid, false));
        // Migrations happen in the kernel: counting user space only would always give 0.
        if (!counter.file && (errno == EACCES || errno == EPERM) && counter.name != "cpu-migrations") {
            counter.file = Descriptor(open_event(event, pid, true));
            counter.user_only = true;
        }
        if (!counter.file) counter.error = errno;
        counters_.push_back(std::move(counter));
    }
}

bool EventCounters::has(const std::string& name) const {
    for (const Counter& counter : counters_) {
        if (counter.name == name) return static_cast<bool>(counter.file);
    }
    return false;
}

Reading EventCounters::read(const std::string& name) const {
    for (const Counter& counter : counters_) {
        if (counter.name != name) continue;
        if (!counter.file) return {{}, false, false, reason(counter.error, counter.hardware)};
        struct {
            std::uint64_t value, enabled, running;
        } got{};
        if (::read(counter.file.get(), &got, sizeof got) != sizeof got)
            return {{}, false, false, "its counter could not be read"};
        if (got.running == 0)
            return {{}, false, false, "its counter never ran: other events use all hardware counters"};
        const double scale = static_cast<double>(got.enabled) / static_cast<double>(got.running);
        return {static_cast<double>(got.value) * scale, counter.user_only, got.enabled != got.running, ""};
    }
    return {{}, false, false, "no such counter"};
}

}  // namespace flameprobe::counting
