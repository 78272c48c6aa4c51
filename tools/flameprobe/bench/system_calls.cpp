#include "system_calls.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace flameprobe::bench {

namespace {

constexpr std::array<std::string_view, 2> entries{"do_syscall_64", "el0_svc"};  // of all calls
constexpr std::string_view stands_for = "[kernel: ";
constexpr std::array<std::string_view, 3> prefixes{"__x64_sys_", "__arm64_sys_", "__do_sys_"};
/// Functions that the function of a system call jumps to (a tail call), so that the call's own is not on the stack.
/// Each serves one system call only.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> jumped_to{{{"ksys_read", "read"},
                                                                                  {"ksys_write", "write"},
                                                                                  {"do_readv", "readv"},
                                                                                  {"do_writev", "writev"},
                                                                                  {"do_futex", "futex"},
                                                                                  {"__sys_sendto", "sendto"},
                                                                                  {"__sys_recvfrom", "recvfrom"},
                                                                                  {"__sys_sendmsg", "sendmsg"},
                                                                                  {"__sys_recvmsg", "recvmsg"}}};

/// The system call that a function of the kernel implements; empty: none.
std::string_view call_of(std::string_view function) {
    for (const std::string_view prefix : prefixes) {
        if (function.starts_with(prefix)) return function.substr(prefix.size());
    }
    const auto found =
        std::find_if(jumped_to.begin(), jumped_to.end(), [function](const auto& one) { return one.first == function; });
    return found == jumped_to.end() ? std::string_view() : found->second;
}

struct Cost {
    double sampled = 0;          // the largest of the call's functions, which call each other
    double in_kernel_frame = 0;  // in the frame [kernel: CALL], where the kernel's own are missing
};

}  // namespace

CallCosts system_calls(const PointReport& point) {
    std::map<std::string_view, Cost> costs;
    CallCosts result;
    double entered = 0;
    for (const FunctionCost& function : point.functions) {
        std::string_view name = function.name;
        if (name.starts_with(stands_for) && name.ends_with("]")) {
            name = name.substr(stands_for.size(), name.size() - stands_for.size() - 1);
            if (name == "page fault") continue;
            costs[name].in_kernel_frame += function.total;
            result.whole += function.total;
        } else if (name.ends_with("_[k]")) {
            name.remove_suffix(4);
            if (name == entries[0] || name == entries[1]) entered = std::max(entered, function.total);
            if (const std::string_view call = call_of(name); !call.empty())
                costs[call].sampled = std::max(costs[call].sampled, function.total);
        }
    }
    for (const auto& [name, cost] : costs) {
        if (cost.sampled + cost.in_kernel_frame > 0)
            result.calls.push_back({std::string(name), cost.sampled + cost.in_kernel_frame});
    }
    std::stable_sort(result.calls.begin(), result.calls.end(), [](auto& a, auto& b) { return a.cost > b.cost; });
    result.whole += entered;
    return result;
}

}  // namespace flameprobe::bench
