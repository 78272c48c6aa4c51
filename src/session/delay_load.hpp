// The libraries that only a recording needs: for unwinding, symbols and compression. Loading them takes half a
// millisecond of CPU time, most of what a process without a sample would pay for the core. So libflameprobe-core.so
// does not need them in the linker's sense (DT_NEEDED); its calls of them lead through jump stubs, which lead nowhere
// before the libraries are loaded.
#pragma once

#include <atomic>

#include "base/result.hpp"

namespace flameprobe {

using LoadLibraries = Result<void>();
/// Loads the libraries, or says why that cannot be. Null in a program that is linked with them. For the collector only;
/// waits for the dynamic linker's lock.
inline constinit LoadLibraries* load_libraries = nullptr;
/// Whether it is at work: it may be waiting for a thread of the host, which in turn must not wait for the collector.
inline constinit std::atomic<bool> libraries_are_loading{false};

/// Runs `act` while no thread of the host forks: a child would have the dynamic linker's tables half written.
using WhileNoThreadForks = void (*)(void (*act)(void* argument), void* argument);

/// In the core: sets load_libraries.
void delay_loading(WhileNoThreadForks guard);

}  // namespace flameprobe
