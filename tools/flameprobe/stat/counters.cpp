#include "counters.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/result.hpp"
#include "capture/perf_event.hpp"

namespace flameprobe::counting {

namespace {

/// Those of known_events that `flameprobe stat` shows.
const std::vector<std::string> shown_events = {"task-clock", "cpu-migrations", "cycles",           "instructions",
                                               "branches",   "branch-misses",  "cache-references", "cache-misses"};

int open_event(const EventName& event, pid_t pid, bool user_only, bool running) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = event.type;
    attr.config = event.config;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.inherit = 1;
    attr.inherit_thread = running ? 1 : 0;  // of a process that runs: its threads, no children
    attr.disabled = running ? 0 : 1;
    attr.enable_on_exec = running ? 0 : 1;
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
    return "perf_event_open: " + error_text(error);
}

}  // namespace

EventCounters::EventCounters(pid_t pid) : EventCounters({pid}, shown_events, false) {}
EventCounters::EventCounters(pid_t pid, const std::vector<std::string>& names) : EventCounters({pid}, names, false) {}

EventCounters EventCounters::of_running(const std::vector<pid_t>& threads) { return {threads, shown_events, true}; }

EventCounters::EventCounters(const std::vector<pid_t>& threads, const std::vector<std::string>& names, bool running) {
    for (const EventName& event : known_events) {
        if (std::find(names.begin(), names.end(), event.name) == names.end()) continue;
        Counter counter;
        counter.name = event.name;
        counter.hardware = event.type == PERF_TYPE_HARDWARE;
        for (const pid_t thread : threads) open(counter, event, thread, running);
        if (counter.error != 0) counter.files.clear();  // a part is no count
        counters_.push_back(std::move(counter));
    }
}

void EventCounters::open(Counter& counter, const EventName& event, pid_t thread, bool running) {
    Descriptor file(open_event(event, thread, counter.user_only, running));
    // Migrations happen in the kernel: counting user space only would always give 0.
    if (!file && (errno == EACCES || errno == EPERM) && counter.name != "cpu-migrations" && counter.files.empty()) {
        counter.user_only = true;
        file = Descriptor(open_event(event, thread, true, running));
    }
    if (file)
        counter.files.push_back(std::move(file));
    else if (errno != ESRCH)  // it has just ended
        counter.error = errno;
}

bool EventCounters::has(const std::string& name) const {
    for (const Counter& counter : counters_) {
        if (counter.name == name) return !counter.files.empty();
    }
    return false;
}

Reading EventCounters::read(const std::string& name) const {
    for (const Counter& counter : counters_) {
        if (counter.name != name) continue;
        if (counter.files.empty()) return {{}, false, false, reason(counter.error, counter.hardware)};
        Reading sum{0.0, counter.user_only, false, ""};
        bool ran = false;
        for (const Descriptor& file : counter.files) {
            struct {
                std::uint64_t value, enabled, running;
            } got{};
            if (::read(file.get(), &got, sizeof got) != sizeof got)
                return {{}, false, false, "its counter could not be read"};
            if (got.running == 0) continue;  // this thread did not run
            ran = true;
            *sum.value +=
                static_cast<double>(got.value) * static_cast<double>(got.enabled) / static_cast<double>(got.running);
            sum.estimated = sum.estimated || got.enabled != got.running;
        }
        if (!ran && counter.hardware)
            return {{}, false, false, "its counter never ran: other events use all hardware counters"};
        return sum;
    }
    return {{}, false, false, "no such counter"};
}

}  // namespace flameprobe::counting
