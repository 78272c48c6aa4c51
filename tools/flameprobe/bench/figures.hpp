// Figures of a report as text, and those that are worked out of several.
#pragma once

#include <string>
#include <vector>

#include "report.hpp"
#include "scaling.hpp"
#include "statistics.hpp"

namespace flameprobe::bench {

/// "0.4 ns", "12.3 µs", "1.20 ms": three digits.
std::string cost_text(double ns);
/// "48,200", "3.25": four digits or whole numbers.
std::string rate_text(double per_second);
/// "12.3 KiB ± 0.4 KiB", digits as below.
std::string size_text(const Interval& bytes);
/// With as many digits as the error's first two are worth: 4413 within 8385 is "4,400", 1.5004 within 0.031 "1.500".
std::string sized_text(double value, double error);
/// "12.30 µs ± 0.40 µs", digits as above; without an interval only the mean.
std::string cost_text(const Interval& interval);
std::string rate_text(const Interval& interval);
/// "40 s", "3 min", "2 h": of a time that is only estimated.
std::string rounded_span_text(double seconds);
/// "+3.1 %", "−0.4 %".
std::string change_text(double share);
/// "0.043 (0.031 to 0.055)".
std::string parameter_text(const Parameter& parameter);
/// A function's name, as folded text has it, for people: short, with its _[k] or _[i].
std::string shown_name(const std::string& name);
/// The same as pictures show it, without _[k] and _[i].
std::string label_of(const std::string& name);

// What a report says first: in sentences, before figures.

/// What grows with the variable, how much of the ideal is lost and within which error, and where it is lost.
std::string answer_of(const ScalingReport& scaling, const std::string& unit);
/// What a unit of work costs, and in which function most.
std::string answer_of(const PointReport& point);

/// "requests" as one: "request".
std::string one_of(const std::string& unit);

// CPU time in system calls, from the functions of a report.

struct CallCost {
    std::string name;  // sendto
    double cost = 0;   // CPU nanoseconds per unit of work, in the kernel for this call
};

struct CallCosts {
    std::vector<CallCost> calls;  // the dearest first
    /// Of all system calls; more than the sum of `calls` by other calls and scheduling at a call's return.
    double whole = 0;
};

/// By the kernel's functions of a call (__x64_sys_sendto, do_writev) where its frames may be sampled, else by the frame
/// that stands for them ([kernel: sendto]).
CallCosts system_calls(const PointReport& point);

}  // namespace flameprobe::bench
