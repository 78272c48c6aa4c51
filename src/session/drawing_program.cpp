#include "session/drawing_program.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/memory_map.hpp"
#include "base/output_directory.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "sandbox/host_restrictions.hpp"
#include "session/at_load.hpp"
#include "session/run_info.hpp"
#include "session/task.hpp"

namespace flameprobe {
namespace {

constexpr const char* program_name = "flameprobe-draw";
// Less than what the host waits for the collector without progress.
constexpr std::uint64_t most_stillness_ns = 4 * ns_per_second;
constexpr std::uint64_t most_step_cpu_ns = 20 * ns_per_second;

/// Whether only root and the running user can have put it there, and can change it.
bool is_trusted(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return false;
    return is_trusted_owner(found.st_uid) && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Beside libflameprobe-core.so; in a build tree where it is built.
Result<std::string> find_program() {
    const std::string& directory = at_load().core_directory;
    if (directory.empty()) return Error{std::string(program_name) + " cannot be looked for"};
    for (const char* const place : {"/", "/../tools/draw/"}) {
        const std::string path = directory + place + program_name;
        if (::access(path.c_str(), X_OK) != 0) continue;
        const std::string folder = path.substr(0, path.rfind('/'));
        if (!is_trusted(path) || !is_trusted(folder)) return Error{path + " may be changed by other users"};
        return path;
    }
    return Error{std::string(program_name) + " is not installed in " + directory};
}

std::vector<std::string> arguments_for(const std::string& program, const DrawingOrder& order, const Options& options) {
    std::vector<std::string> arguments = {program, order.input};
    if (!order.stem.empty()) arguments.push_back("--stem=" + order.stem);
    if (order.smaller != nullptr) arguments.emplace_back("--compact");
    if (order.low_priority) arguments.emplace_back("--low-priority");
    for (const Format format : options.formats) arguments.emplace_back("--format=" + std::string(ending_of(format)));
    arguments.insert(arguments.end(), options.drawing.begin(), options.drawing.end());
    return arguments;
}

std::vector<std::string> environment() {
    std::vector<std::string> lines = {"PATH=/usr/bin:/bin"};
    for (const char* name : {"HOME", "XDG_CACHE_HOME", "DEBUGINFOD_CACHE_PATH", "LANG", "LC_ALL"})
        if (const std::string* value = at_load().variable(name)) lines.push_back(name + ("=" + *value));
    return lines;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

/// What the two processes below share with the collector, whose memory they have.
struct Start {
    const char* program;
    char* const* arguments;
    char* const* environment;
    const char* directory;
    int input, output, nothing;
    char* stack;  // of the program's process, its upper end
    int error = 0;
    int process = 0;
};

// Both run on the collector's memory, so nothing of libc's that takes a lock or keeps state.
int become_program(void* argument) {
    auto* const start = static_cast<Start*>(argument);
    const std::uint64_t none = 0;
    handler::system_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0L, 8L);
    // A second Ctrl-C is not meant for it. A low priority counts only among programs of one session (sched(7)).
    handler::system_call(SYS_setpgid, 0L, 0L);
    if (start->directory[0] != '\0') handler::system_call(SYS_chdir, start->directory);
    handler::system_call(SYS_dup3, start->input, STDIN_FILENO, 0);
    handler::system_call(SYS_dup3, start->output, STDOUT_FILENO, 0);
    handler::system_call(SYS_dup3, start->nothing, STDERR_FILENO, 0);
    start->error =
        static_cast<int>(-handler::system_call(SYS_execve, start->program, start->arguments, start->environment));
    handler::system_call(SYS_exit_group, 127);
    return 127;
}

// The program's parent ends at once, so the host has no child that it did not make; but see start_and_wait().
int start_between(void* argument) {
    auto* const start = static_cast<Start*>(argument);
    const int child = ::clone(become_program, start->stack, CLONE_VM | CLONE_VFORK, start);
    if (child < 0 && start->error == 0) start->error = EAGAIN;
    start->process = child;
    handler::system_call(SYS_exit_group, 0);
    return 0;
}

int run(Start& start) {
    constexpr std::size_t stack_bytes = 64 << 10;
    MemoryMap stacks = MemoryMap::reserve(2 * stack_bytes);
    if (!stacks) return ENOMEM;
    start.stack = reinterpret_cast<char*>(stacks.data()) + stack_bytes;
    const int between = ::clone(start_between, start.stack + stack_bytes, CLONE_VM | CLONE_VFORK, &start);
    if (between < 0) return errno;
    int status = 0;
    while (::waitpid(between, &status, __WALL) < 0 && errno == EINTR) {
    }
    return start.error;
}

/// The collector's own table has nothing at 0, 1 and 2 that must stay there; the program's will.
Descriptor above_standard(const Descriptor& file) { return Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3)); }

void take_lines(std::string& text, Drawn& drawn, bool& done) {
    for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
        const std::string_view line = std::string_view(text).substr(0, end);
        if (line.starts_with("wrote ")) drawn.messages.emplace_back(line);
        if (line.starts_with("problem: ")) drawn.problems.emplace_back(line.substr(9));
        if (line == "done") done = true;
    }
}

/// Whether the program goes on: by the steps that it tells, and between two of them by its CPU time, of which a step
/// has a limit. So one that waits for ever, and one that computes for ever, are given up.
class Headway {
public:
    explicit Headway(int process) : clock_(process_cpu_clock(static_cast<std::uint32_t>(process))) {}

    void step() {
        step_cpu_ns_ = cpu_ns_ = read_clock(clock_);
        seen_ns_ = monotonic_ns();
    }
    /// Whether it has got on since the last look.
    bool look() {
        const std::uint64_t now = read_clock(clock_);
        if (now <= cpu_ns_ || now - step_cpu_ns_ > most_step_cpu_ns) return false;
        cpu_ns_ = now;
        seen_ns_ = monotonic_ns();
        return true;
    }
    bool is_still() const { return monotonic_ns() - seen_ns_ > most_stillness_ns; }

private:
    const clockid_t clock_;
    std::uint64_t step_cpu_ns_ = 0, cpu_ns_ = 0, seen_ns_ = monotonic_ns();
};

/// Ends a flameprobe-draw that was given up: it would write its results beside those of the next one for this run. The
/// number is not another process's: flameprobe-draw has the pipe's other end open after pidfd_open(2).
void end_program(const Descriptor& from, int process) {
    if (process <= 0 || (is_in_host_process() && filter_kills_for({SYS_pidfd_open, SYS_pidfd_send_signal}))) return;
    const Descriptor life(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    pollfd pipe{from.get(), POLLIN, 0};
    if (life && ::poll(&pipe, 1, 0) == 0) ::syscall(SYS_pidfd_send_signal, life.get(), SIGKILL, nullptr, 0L);
}

Result<Drawn> read_answers(const Descriptor& from, int process, const WhileDrawing& watch) {
    Drawn drawn;
    std::string text;
    bool done = false;
    for (Headway headway(process);;) {
        pollfd ready{from.get(), POLLIN, 0};
        const int polled = ::poll(&ready, 1, watch.meanwhile ? 5 : 100);
        if (polled < 0 && errno != EINTR) return Error{std::string(program_name) + " cannot be heard"};
        if (watch.meanwhile) watch.meanwhile();
        if (polled <= 0) {
            if (headway.look()) watch.alive();
            if (!headway.is_still()) continue;
            end_program(from, process);
            return Error{std::string(program_name) + " does not go on"};
        }
        headway.step();
        char piece[4096];
        const ssize_t got = ::read(from.get(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        watch.alive();
        text.append(piece, static_cast<std::size_t>(got));
        take_lines(text, drawn, done);
    }
    if (!done) {
        return Error{drawn.problems.empty() ? std::string(program_name) + " ended before it was done"
                                            : drawn.problems.front()};
    }
    return drawn;
}

Result<Drawn> start_and_wait(const DrawingOrder& order, const Options& options, const WhileDrawing& watch) {
    if (::getauxval(AT_SECURE) != 0 || ::getuid() != ::geteuid())
        return Error{"a process with changed privileges starts no program"};
    // A task has no filter of the host's, and cannot try: a child without its memory has no stack (session/task.hpp).
    if (is_in_host_process() && filter_kills_for({SYS_clone, SYS_execve, SYS_wait4, SYS_pipe2, SYS_dup3}))
        return Error{filter_text::no_program};
    auto program = find_program();
    if (!program) return program.error();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Error{"no pipe can be made: " + error_text(errno)};
    const Descriptor from(ends[0]);
    Descriptor to = above_standard(Descriptor(ends[1]));
    Descriptor nothing = above_standard(Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)));
    if (!nothing) nothing = above_standard(Descriptor(::open("/", O_RDONLY | O_CLOEXEC)));  // a root without devices
    const Descriptor input = above_standard(order.smaller != nullptr ? *order.smaller : nothing);
    if (!to || !nothing || !input) return Error{"no descriptor is left: " + error_text(errno)};
    std::vector<std::string> arguments = arguments_for(*program, order, options), variables = environment();
    const std::vector<char*> argument_list = pointers(arguments), variable_list = pointers(variables);
    const char* const directory = is_in_host_process() && filter_kills_for({SYS_chdir}) ? "" : began_in;
    Start start{
        program->c_str(), argument_list.data(), variable_list.data(), directory, input.get(), to.get(), nothing.get(),
        nullptr};
    if (const int error = run(start); error != 0) return Error{*program + " cannot be started: " + error_text(error)};
    to = Descriptor();
    auto drawn = read_answers(from, start.process, watch);
    // It has become this process's child where that takes orphans: a host that is a container's first process, and a
    // task. It would stay a zombie.
    if (start.process > 0) reap_child(start.process);
    return drawn;
}

}  // namespace

std::string drawn_by_hand(const std::string& profile, const std::string& stem) {
    return "; this draws it: flameprobe-render " + profile + " -o " + stem + ".html";
}

Result<Drawn> draw(const DrawingOrder& order, const Options& options, const WhileDrawing& watch) {
    auto drawn = start_and_wait(order, options, watch);
    if (drawn) return drawn;
    const std::string why =
        (options.formats.empty() ? "the run's profiles are not put together: " : "no picture is drawn: ") +
        drawn.error().message;
    return Error{order.stem.empty() ? why : why + drawn_by_hand(order.input, order.stem)};
}

Result<void> let_write_smaller(const std::string& profile, const Descriptor& into, const WhileDrawing& watch) {
    const auto written = start_and_wait({.input = profile, .stem = {}, .smaller = &into}, Options(), watch);
    return written ? Result<void>() : written.error();
}

}  // namespace flameprobe
