// Waiting until a program can take its load.
#pragma once

#include <string>

#include "bench_file.hpp"
#include "process.hpp"

namespace flameprobe::bench {

/// A TCP port of 127.0.0.1 on which nothing listens now. 0 if there is none.
int free_port();

/// An Error if the program ends, or is not ready in time; the message names the condition that did not come true.
/// `ready` has its placeholders filled in; `output` is the file that the program prints to.
Result<void> wait_until_ready(const Ready& ready, Process& program, const std::string& output);

}  // namespace flameprobe::bench
