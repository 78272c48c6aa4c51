// Waits for work, and those in the midst of work for what others do: both are in epoll_wait, or for a condition.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "render/story.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// A thread that works waits for work near to where it begins, and for others where it is deep in its work. Threads
/// whose names differ in numbers only are taken together, since one may always be in the midst of work.
class IdleWaits {
public:
    /// Both have to outlive this.
    IdleWaits(const NamedProfile& profile, const StoryTeller& stories) : profile_(profile), stories_(stories) {}

    /// Each wait of WaitKind::idle, before the questions below.
    void add(const NamedCount& count);

    /// Whether the stack with this leaf has two functions of the program's own more than its threads' waits for work.
    bool is_in_work(NodeId leaf) const;
    /// The nearest function of the program's own that no wait for work has; else the nearest. 0: there is none.
    NodeId place(NodeId leaf) const;

private:
    struct Sum {
        std::uint64_t weight = 0, looks = 0;
    };
    std::string threads_of(NodeId leaf) const;
    std::size_t depth(NodeId leaf) const;

    const NamedProfile& profile_;
    const StoryTeller& stories_;
    std::map<std::string, std::map<std::size_t, Sum>> sums_;  // of like threads, by depth
    std::set<NodeId> leaves_;
    mutable std::set<FunctionId> waits_for_work_;  // functions of these; made at the first question
    mutable bool is_made_ = false;
};

}  // namespace flameprobe
