#include "outside_run.hpp"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "../commands.hpp"
#include "../exec_pause.hpp"
#include "base/host_process.hpp"
#include "command_line.hpp"
#include "literal_out.hpp"
#include "recorders.hpp"
#include "refusal.hpp"
#include "session/family.hpp"
#include "session/run_info.hpp"

namespace flameprobe {

namespace {

/// Nothing where it cannot be recorded, which is told: the command runs all the same.
std::unique_ptr<Recorders> record(pid_t pid, const Options& options, const timespec& start) {
    if (const std::string why = why_not_attached(pid, options.off_cpu()); !why.empty()) {
        complain(0, why);
        return nullptr;
    }
    auto recorders = std::make_unique<Recorders>(pid, AttachSettings{options, start}, options.children);
    if (const auto started = recorders->start(); !started) {
        complain(0, started.error().message);
        return nullptr;
    }
    complain(0, what_has_no_stacks(pid));
    return recorders;
}

}  // namespace

Result<int> run_from_outside(char* const command[], const Child::Environment& environment, Options options,
                             FinishedRun& run, int& status) {
    std::optional<ExecPause> pause;
    auto child = Child::start(command, environment, status, [&](pid_t pid) { pause.emplace(pid); });
    if (!child) return child.error();
    static_cast<void>(pause->reached());
    watch_process(child->pid());
    run.pid = ::getpid();
    run.target = child->pid();
    run.out = options.out = literal_out(run.out, child->pid(), run.start);
    ::unsetenv("FLAMEPROBE_ROOT");  // else its results would be those of the run that this command is part of
    static_cast<void>(family());
    const auto recorders = record(child->pid(), options, run.start);
    pause.reset();
    const int ended = recorders ? child->wait([&] { recorders->look(); }) : child->wait();
    if (recorders) {
        recorders->end();
        run.cpu_ns = recorders->cpu_ns();
        for (const std::string& problem : recorders->problems()) complain(0, problem);
    }
    run.obstacle = !recorders;
    return ended;
}

}  // namespace flameprobe
