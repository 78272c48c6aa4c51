// The answer: in one sentence, what a profile's reader would find in its picture. A pure function of the profile, which
// every output shows as it is.
#pragma once

#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct Answer {
    std::string event;     // "cpu", "offcpu", "alloc", ...
    std::string sentence;  // clean text of at most `longest_answer` columns
};

/// With "flameprobe: " before it a line of 100.
inline constexpr std::size_t longest_answer = 88;

/// Of the profile's event: the heaviest path of own code by total time, cut where it stops being one story, and what
/// that spends its time on; of several processes first whose time it is; of waiting what could be changed. Shares are
/// of all weight. Of too few samples it says how long to run instead. Empty without samples. `running`: the CPU time
/// beside which a profile of waiting waits; null: the threads' clocks tell it.
std::string answer(const NamedProfile& profile);

/// Of all of the profile's events, its own first.
std::vector<Answer> answers(const NamedProfile& profile);

/// A share of the threads' time that was waited for one reason at one place.
struct WaitReason {
    std::string share;     // "39 %"
    std::uint64_t ns = 0;  // of all threads together
    std::string sentence;  // "waited for lock big, held by worker-2 in rebuild"
};

/// Of the waiting time among the profile's events: first, the longest before the others, what somebody can change, then
/// waits for work, what is not known and `[preempted]`. Those below half a percent of the threads' time are left out,
/// and those below a twentieth that were seen less than five times; at most 20. Empty if the profile has no waiting
/// time.
std::vector<WaitReason> wait_reasons(const NamedProfile& profile);

/// Whether samples are too few for any answer.
bool has_few_samples(const NamedProfile& profile);

// For this folder.

/// "94 %", "<1 %", ">99 %".
std::string whole_percent(std::uint64_t part, std::uint64_t whole);
std::string answer_of_waits(const NamedProfile& profile);
std::string answer_of_tasks(const NamedProfile& profile);
std::string in_sentence(std::string_view name);  // bounded

}  // namespace flameprobe
