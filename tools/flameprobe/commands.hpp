// The commands of `flameprobe`. argv[0] is the command's name; each returns the exit status.
#pragma once

#include <string>

#include "base/printed.hpp"

namespace flameprobe {

/// `flameprobe run [OPTIONS] [--] COMMAND [ARGUMENTS]`. Ends as the command ends; 2 if it was not started because of
/// wrong usage, 3 if a gate was not passed.
int run_command(int argc, char* argv[]);

/// `flameprobe bench`. 0: all runs went well, 1: some failed, 2: usage or a bad file, 128 + n: interrupted.
int bench_command(int argc, char* argv[]);

/// `flameprobe compare OLD NEW`. 0: done, 1: bad input, 2: usage, 3: above --fail-above.
int compare_command(int argc, char* argv[]);

/// `flameprobe stat -- COMMAND`. Ends as the command ends; 2 for usage.
int stat_command(int argc, char* argv[]);

/// `flameprobe attach PID`. 0: done, 1: refused, 2: usage.
int attach_command(int argc, char* argv[]);

/// `flameprobe top PID`.
int top_command(int argc, char* argv[]);

/// `flameprobe live PID`.
int live_command(int argc, char* argv[]);

/// `flameprobe push ...`.
int push_command(int argc, char* argv[]);

/// `flameprobe doctor [PROGRAM]`. 0: everything needed works, 1: nothing could be sampled, 2: usage.
int doctor_command(int argc, char* argv[]);

/// Prints the message, if there is one, as a line on stderr. Returns `status`.
inline int complain(int status, const std::string& message) {
    if (!message.empty()) print_message("flameprobe", message);
    return status;
}

/// The same for what is wrong with a command's options or arguments. What is said of an option's value, which begins
/// with its name, is enough. Returns 2.
inline int complain_of_usage(const std::string& command, const std::string& message) {
    if (message.starts_with("--")) return complain(2, message);
    return complain(2, message + (message.ends_with('?') ? "" : ".") + " Try 'flameprobe " + command + " --help'.");
}

}  // namespace flameprobe
