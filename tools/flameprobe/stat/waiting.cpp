#include "waiting.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "../preload_path.hpp"
#include "../program.hpp"
#include "outside/counters.hpp"
#include "outside/reader.hpp"

namespace flameprobe::counting {

namespace {

class SummaryOnly final : public PartialSink {
public:
    void summary(const Summary& summary) override { counters = summary.counters; }

    Counters counters;
};

}  // namespace

Result<WaitingRun> WaitingRun::prepare(const std::string& command) {
    const auto library = find_library();
    if (!library) return library.error();
    WaitingRun run;
    std::error_code failed;
    std::string name = std::filesystem::temp_directory_path(failed) / "flameprobe-stat-XXXXXX";
    if (failed || ::mkdtemp(name.data()) == nullptr)
        return Error{name + ": no temporary directory: " + (failed ? failed.message() : error_text(errno))};
    run.directory_ = name;
    auto opened = OwnDirectory::open(name);
    if (!opened) return Error{name + ": " + opened.error().message};
    run.own_.emplace(std::move(*opened));
    const PreloadObstacle obstacle = preload_obstacle(command);
    run.obstacle_ = obstacle.why;
    run.environment_ = {
        {"LD_PRELOAD", preload_with(*library)}, {"FLAMEPROBE_EVENT", "cpu,offcpu"}, {"FLAMEPROBE_FORMAT", "none"},
        {"FLAMEPROBE_OUT", name + "/%e.%p.%t"}, {"FLAMEPROBE_START", "1"},          {"FLAMEPROBE_LOG", "quiet"},
        {"FLAMEPROBE_CHILDREN", "separate"}};
    if (obstacle.other_loader) run.environment_.clear();
    return run;
}

WaitingRun::WaitingRun(WaitingRun&& other) noexcept
    : directory_(std::exchange(other.directory_, {})),
      own_(std::exchange(other.own_, std::nullopt)),
      obstacle_(std::move(other.obstacle_)),
      environment_(std::move(other.environment_)) {}

WaitingRun::~WaitingRun() {
    if (own_) static_cast<void>(own_->clear());
    if (!directory_.empty()) ::rmdir(directory_.c_str());
}

Waiting WaitingRun::read() const {
    Waiting waiting;
    Counters sum;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(directory_, failed)) {
        SummaryOnly summary;
        if (entry.path().extension() != ".fprobe" || !read_profile(entry.path(), summary)) continue;
        ++waiting.processes;
        for (const auto& [name, value] : summary.counters) sum[name] = add_saturated(sum[name], value);
    }
    waiting.blocked_ns = counter_value(sum, "off-CPU: blocked ns").value_or(0);
    waiting.preempted_ns = counter_value(sum, "off-CPU: preempted ns").value_or(0);
    waiting.waits = counter_value(sum, "off-CPU: waits").value_or(0);
    waiting.calls = blocked_calls(sum);
    if (waiting.processes == 0)
        waiting.why_not = obstacle_.empty()
                              ? "the command left no profile: it ended before it had waited or used the CPU, "
                                "or the library was not loaded (flameprobe doctor COMMAND)"
                              : obstacle_;
    return waiting;
}

}  // namespace flameprobe::counting
