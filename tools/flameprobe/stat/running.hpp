// What a process that runs already used, from one moment to another, from /proc.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace flameprobe::counting {

/// Switches of a thread that ends meanwhile count up to the last look at it.
class RunningProcess {
public:
    /// What it used before does not count.
    explicit RunningProcess(pid_t pid);
    void look();
    /// CPU times are whole ticks (sysconf(_SC_CLK_TCK)); the peak memory is that of its whole life.
    rusage used() const;
    const std::string& name() const { return name_; }

private:
    struct Switches {
        long voluntary = 0, forced = 0;
    };
    struct Figures {
        std::uint64_t user = 0, system = 0;  // ticks
        long minor = 0, major = 0;           // page faults
        long peak_kib = 0;
    };
    Figures read() const;

    const pid_t pid_;
    std::string name_;
    Figures before_, now_;
    std::map<pid_t, Switches> switches_before_, switches_;
};

}  // namespace flameprobe::counting
