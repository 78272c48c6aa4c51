// The program's commands, one function each; they print, and return the exit status.
#pragma once

#include <string>

#include "arguments.hpp"

namespace flameprobe {

enum ExitStatus : int { done = 0, failed = 1, wrong_usage = 2, below_threshold = 3 };

int complain(ExitStatus status, const std::string& message);
/// On standard output.
int print(const std::string& text);

int render_command(Arguments& arguments);
int diff_command(Arguments& arguments);
/// Writes the processes of all inputs, as they were recorded, into one `.fprobe`.
int merge_command(const Arguments& arguments);
/// Writes the input again with the names of all its addresses in it, so that it can be read where the program and its
/// libraries are not. Writes to the output, or replaces the input. Names that were stored before are kept.
int archive_command(const Arguments& arguments);

}  // namespace flameprobe
