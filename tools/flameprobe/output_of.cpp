#include "output_of.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace flameprobe {

std::string output_of(const std::vector<std::string>& command, std::size_t most) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    Descriptor from(ends[0]);
    Descriptor to(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    to.reset();
    if (failed != 0) return {};
    std::string output;
    char piece[4096];
    for (ssize_t got; output.size() <= most && (got = read(from.get(), piece, sizeof piece)) > 0;)
        output.append(piece, static_cast<std::size_t>(got));
    if (output.size() > most) output.clear();
    from.reset();  // one that prints on ends by SIGPIPE
    int status = 0;
    waitpid(pid, &status, 0);
    return status == 0 ? output : std::string();
}

std::string dirty_text() {
    if (output_of({"git", "rev-parse", "HEAD"}).empty()) return "not known";
    return output_of({"git", "status", "--porcelain", "--untracked-files=no"}).empty() ? "no" : "yes";
}

}  // namespace flameprobe
