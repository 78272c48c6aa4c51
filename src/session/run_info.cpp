#include "session/run_info.hpp"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/machine.hpp"
#include "base/paths.hpp"
#include "base/proc.hpp"
#include "session/at_load.hpp"

namespace flameprobe {
namespace {

/// How long the host has run: its start in ticks since boot (proc(5), /proc/PID/stat: starttime).
std::string age_text() {
    const auto stat = read_small_file((host_proc_directory() + "/stat").c_str()).value_or("");
    const std::uint64_t started_s = stat_number(stat, 22) / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    const std::uint64_t now_s = read_clock(CLOCK_BOOTTIME) / ns_per_second;
    return std::to_string(now_s - std::min(now_s, started_s)) + " s";
}

std::string executable_path() {
    std::string path = link_target(host_memory_directory() + "/exe");
    if (path.empty()) path = executed_path();
    if (!is_dynamic_linker(path) || is_watched_from_outside()) return path;
    char program[PATH_MAX];
    const std::string executed = executed_path();
    return !is_dynamic_linker(executed) && ::realpath(executed.c_str(), program) != nullptr ? program : path;
}

/// What `flameprobe run` learned from git before it started the program.
std::string dirty_text() {
    const std::string* const told = at_load().variable("FLAMEPROBE_DIRTY");
    if (told != nullptr && (*told == "yes" || *told == "no")) return *told;
    return "not known: git is not run inside the program";
}

std::vector<RunFact> facts_of_machine() {
    const std::string directory = is_watched_from_outside() ? link_target(host_proc_directory() + "/cwd")
                                  : began_in[0] != '\0'     ? std::string(began_in)
                                                            : working_directory();
    const std::string commit = git_commit(directory);
    std::vector<RunFact> facts;
    if (is_watched_from_outside()) facts.push_back({"attached", "from outside, " + age_text() + " after it began"});
    facts.push_back({"directory", directory});
    facts.push_back({"commit", commit.empty() ? "none" : commit});
    facts.push_back({"dirty", commit.empty() ? "no repository" : dirty_text()});
    for (const auto& [name, value] : machine_facts()) facts.push_back({name, value});
    return facts;
}

std::uint32_t parent_process() {
    if (is_in_host_process()) return static_cast<std::uint32_t>(::getppid());
    const std::string status = read_small_file((host_proc_directory() + "/status").c_str()).value_or("");
    return static_cast<std::uint32_t>(status_number(status, "PPid").value_or(0));
}

}  // namespace

RunInfo describe_process() {
    RunInfo run;
    run.version = FLAMEPROBE_VERSION;
    run.executable = executable_path();
    const auto arguments = read_small_file((host_memory_directory() + "/cmdline").c_str());
    run.command = arguments && !arguments->empty() ? command_text(*arguments) : run.executable;
    utsname system{};
    if (::uname(&system) == 0) run.host = std::string(system.nodename) + ", " + system.sysname + " " + system.release;
    run.pid = static_cast<std::uint32_t>(host_process());
    run.parent_pid = parent_process();
    run.start_unix_ns = read_clock(CLOCK_REALTIME);
    run.facts = facts_of_machine();
    run.place = place_of(host_proc_directory());
    return run;
}

std::string command_text(std::string_view arguments) {
    // A program that writes its title over its arguments leaves one text, and zeros behind it.
    if (const auto end = arguments.find_last_not_of('\0'); arguments.find('\0') > end)
        return std::string(arguments.substr(0, end == arguments.npos ? 0 : end + 1));
    std::string text;
    for (std::size_t at = 0; at < arguments.size();) {
        const std::size_t end = std::min(arguments.find('\0', at), arguments.size());
        if (!text.empty()) text += ' ';
        text += end == at ? "''" : arguments.substr(at, end - at);
        at = end + 1;
    }
    return text;
}

// AT_EXECFN (getauxval(3)) is the name that was executed: redis-server, where /proc/self/exe gives the file that the
// symbolic link leads to, redis-check-rdb. Of what was executed by a link of the kernel's it tells nothing: a
// number of a descriptor (fexecve(3)), or "exe" (runc, and browsers, which execute themselves).
std::string executable_name() {
    std::string path = executed_path();
    if (path.empty() || path.starts_with("/dev/fd/") || path.starts_with("/proc/"))
        path = without_deleted(executable_path());
    const std::string_view name = base_name(path);
    return name.empty() ? "unknown" : std::string(name);
}

std::string working_directory() {
    char path[PATH_MAX];
    return ::getcwd(path, sizeof path) != nullptr ? path : "/";
}

constinit char began_in[PATH_MAX] = "";

void note_working_directory() noexcept {
    if (::getcwd(began_in, sizeof began_in) == nullptr) began_in[0] = '\0';
}

}  // namespace flameprobe
