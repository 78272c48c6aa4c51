// What the kernel jumps to after a handler (sigaction(2), SA_RESTORER); of the CPU's own code.
#pragma once

extern "C" void flameprobe_signal_return();
