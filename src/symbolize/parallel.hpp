// A loop spread over threads.
#pragma once

#include <cstddef>
#include <functional>

namespace flameprobe {

/// CPUs this process may run on, at least 1.
unsigned allowed_cpus();

/// Calls `work(0)` ... `work(count - 1)`, each once, in any order, on up to `workers` threads, of which the caller is
/// one; returns when all are done. The threads block all signals, so that a host's handlers never run on them. Without
/// threads the caller does all calls. The first exception that `work` throws is rethrown at the end.
void run_parallel(unsigned workers, std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace flameprobe
