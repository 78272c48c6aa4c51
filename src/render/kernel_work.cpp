#include "render/kernel_work.hpp"

#include <array>
#include <utility>

#include "profile/names.hpp"

namespace flameprobe {

namespace {

constexpr std::string_view note_begin = "[kernel: ";

/// How the kernel's functions for system calls begin (arch/*/include/asm/syscall_wrapper.h).
constexpr std::array<std::string_view, 7> call_functions = {
    "__x64_sys_", "__se_sys_", "__arm64_sys_", "__ia32_sys_", "__do_sys_", "__x64_compat_sys_", "ksys_"};

/// How functions begin by which the kernel is entered without a system call, or that leave a thread to another.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> entries = {{
    {"asm_exc_page_fault", "page faults"},
    {"exc_page_fault", "page faults"},
    {"do_user_addr_fault", "page faults"},
    {"asm_sysvec_", "interrupts"},
    {"sysvec_", "interrupts"},
    {"asm_common_interrupt", "interrupts"},
    {"common_interrupt", "interrupts"},
    {"irq_exit", "interrupts"},
    {"__irq_exit", "interrupts"},
    {"irqentry_exit", "interrupts"},
    {"el0_irq", "interrupts"},
    {"asm_exc_", "exceptions"},
    {"schedule", "being scheduled"},
    {"__schedule", "being scheduled"},
    {"finish_task_switch", "being scheduled"},
    {"schedule_tail", "being scheduled"},
    {"ret_from_fork", "being scheduled"},
}};

}  // namespace

std::string_view kernel_work(std::string_view name) {
    if (name == "[kernel: page fault]") return "page faults";
    if (name.starts_with(note_begin) && name.ends_with(']'))
        return name.substr(note_begin.size(), name.size() - note_begin.size() - 1);
    for (const std::string_view begin : call_functions) {
        if (!name.starts_with(begin)) continue;
        const std::string_view call = name.substr(begin.size());
        return call == "mmap_pgoff" ? "mmap" : call;
    }
    for (const auto& [begin, work] : entries)
        if (name.starts_with(begin)) return work;
    return {};
}

bool is_wrapper_of(std::string_view name, std::string_view call) {
    name = without_glibc_marks(name);
    return name == call || (call.size() + 2 == name.size() && name.starts_with(call) && name.ends_with("64"));
}

}  // namespace flameprobe
