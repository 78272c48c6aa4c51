#pragma once

#include <string_view>

namespace flameprobe {

/// The names of the numbers from 0 on that are this architecture's own; a space follows each.
extern const std::string_view own_system_calls;

// From here on numbers are the same on all architectures (scripts/syscall.tbl, up to Linux 6.10).
inline constexpr unsigned common_begin = 424;
inline constexpr std::string_view common_system_calls =
    "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig "
    "fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2 "
    "mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret "
    "process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake "
    "futex_wait futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal ";

/// The `index`-th of words that a space follows each.
inline std::string_view word_at_index(std::string_view words, unsigned index) {
    for (; index != 0 && !words.empty(); --index) words.remove_prefix(words.find(' ') + 1);
    return words.substr(0, words.find(' '));
}

/// The name of a system call of this architecture, as in syscalls(2); empty for a number that is not known.
inline std::string_view system_call_name(unsigned number) {
    return number < common_begin ? word_at_index(own_system_calls, number)
                                 : word_at_index(common_system_calls, number - common_begin);
}

}  // namespace flameprobe
