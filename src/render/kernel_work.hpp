// What the kernel does, as a person calls it: the system call, or why the kernel works without one. The same for root,
// who sees the kernel's functions, and for others, who see a note.
#pragma once

#include <string_view>

namespace flameprobe {

/// Of a frame of the kernel, or of FlameProbe's note for it: "write" of "__x64_sys_write" and "[kernel: write]", "page
/// faults" of "asm_exc_page_fault". Empty: this frame does not tell.
std::string_view kernel_work(std::string_view name);

/// Whether a function only makes this system call: "__GI___libc_write", "pwrite64".
bool is_wrapper_of(std::string_view name, std::string_view call);

}  // namespace flameprobe
