#include "base/machine.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/proc.hpp"

namespace flameprobe {

namespace {

constexpr const char* not_known = "not known";

/// The first processor only: all of /proc/cpuinfo takes milliseconds on machines with many.
std::string cpu_model() {
    const Descriptor file(::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC));
    char buffer[2048];
    const ssize_t got = file ? ::read(file.get(), buffer, sizeof buffer) : 0;
    const std::string text(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
    const auto value = [&](const char* name) {
        const std::size_t key = text.find(name), colon = text.find(": ", key);
        if (key == std::string::npos || colon == std::string::npos) return std::string();
        return text.substr(colon + 2, text.find('\n', colon) - colon - 2);
    };
    if (std::string name = value("model name"); !name.empty()) return name;
    // arm64 has only numbers (MIDR_EL1), by which CPUs can be looked up.
    const std::string implementer = value("CPU implementer"), part = value("CPU part");
    return implementer.empty() || part.empty() ? not_known : "implementer " + implementer + ", part " + part;
}

std::string cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::to_string(online);
    const int usable = CPU_COUNT(&set);
    return std::to_string(online) +
           (usable == online ? "" : ", " + std::to_string(usable) + " of them for this process");
}

std::string line_of(const std::string& path) {
    const auto text = read_small_file(path.c_str());
    return text ? text->substr(0, text->find('\n')) : "";
}

std::string known_line_of(const char* path) {
    const std::string line = line_of(path);
    return line.empty() ? not_known : line;
}

std::string kernel() {
    utsname system{};
    return ::uname(&system) == 0 ? std::string(system.sysname) + " " + system.release + " " + system.machine
                                 : not_known;
}

/// Recognised by the traces that the usual container engines leave; "none found" proves nothing.
std::string container() {
    // Opened rather than tested with access(2), which a host's filter may not permit.
    if (read_small_file("/.dockerenv")) return "docker";
    if (read_small_file("/run/.containerenv")) return "podman";
    const std::string groups = read_small_file("/proc/self/cgroup").value_or("");
    for (const char* name : {"kubepods", "docker", "containerd", "libpod", "lxc"}) {
        if (groups.find(name) != std::string::npos) return name;
    }
    // In a cgroup namespace the groups show nothing, but the kubelet begins each pod's /etc/hosts so.
    if (read_small_file("/etc/hosts").value_or("").starts_with("# Kubernetes-managed")) return "kubernetes";
    return "none found";
}

bool is_commit(const std::string& text) {
    return (text.size() == 40 || text.size() == 64) && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// A work tree's .git is a directory, or a file that names one (git worktree, submodules); relative to where it is.
std::string git_directory(std::string directory) {
    for (;;) {
        const std::string here = directory + "/.git";
        if (read_small_file((here + "/HEAD").c_str())) return here;
        if (const std::string line = line_of(here); line.starts_with("gitdir: ")) {
            const std::string target = line.substr(8);
            return target.starts_with("/") ? target : directory + "/" + target;
        }
        if (directory.empty() || directory == "/") return {};
        directory.resize(directory.rfind('/') == std::string::npos ? 0 : directory.rfind('/'));
    }
}

std::string packed_reference(const std::string& directory, const std::string& name) {
    const std::string text = read_small_file((directory + "/packed-refs").c_str()).value_or("");
    const std::size_t found = text.find(" " + name + "\n");
    if (found == std::string::npos) return {};
    const std::size_t begin = found == 0 ? 0 : text.rfind('\n', found) + 1;  // npos + 1 is 0
    return text.substr(begin, found - begin);
}

}  // namespace

MachineFacts machine_facts() {
    return {{"CPU", cpu_model()},
            {"cores", cores()},
            {"governor", known_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
            {"kernel", kernel()},
            {"paranoid", known_line_of("/proc/sys/kernel/perf_event_paranoid")},
            {"container", container()}};
}

std::string git_commit(const std::string& directory) {
    const std::string git = git_directory(directory);
    if (git.empty()) return {};
    const std::string head = line_of(git + "/HEAD");
    if (is_commit(head)) return head;
    if (!head.starts_with("ref: ")) return {};
    const std::string name = head.substr(5), common = line_of(git + "/commondir");
    const std::string shared = common.empty() ? git : common.starts_with("/") ? common : git + "/" + common;
    for (const std::string& place : {git, shared}) {
        if (const std::string commit = line_of(place + "/" + name); is_commit(commit)) return commit;
        if (const std::string commit = packed_reference(place, name); is_commit(commit)) return commit;
    }
    return {};
}

}  // namespace flameprobe
