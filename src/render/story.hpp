// The heaviest path of a profile's code, cut where it stops being one story, and what its end spends its time on.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "render/role.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// What a function spends its time on, as a reader would call it.
struct StoryPart {
    enum class Kind : std::uint8_t { function, call, memory, nameless, itself, note } kind = Kind::function;
    std::string name;         // clean: of a function its short name, of a call "write" or "page faults"
    FunctionId function = 0;  // of Kind::function
    std::uint64_t weight = 0, hits = 0;
    std::vector<NodeId> nodes;  // where it begins
    bool alone = false;         // what stands on these is no part of it
};

struct Story {
    std::vector<FunctionId> path;  // from the first function that tells something, the last is what the story is of
    std::uint64_t weight = 0,
                  hits = 0;  // with the last function anywhere in the stack; a part's, where `path` is empty
    StoryPart::Kind kind = StoryPart::Kind::function;
    std::string name;
    std::vector<StoryPart> parts;  // of the last function, the heaviest first
};

/// Looks at the profile's stacks as a reader does: threads, glue, and code without a name lead on; the kernel is a
/// system call, allocators are one thing.
class StoryTeller {
public:
    /// The profile has to outlive this.
    explicit StoryTeller(const NamedProfile& profile);
    StoryTeller(const StoryTeller&) = delete;
    StoryTeller& operator=(const StoryTeller&) = delete;

    /// The heaviest story of the stacks that no earlier one has; nothing is left where none has `least_hits`.
    std::optional<Story> next(std::uint64_t least_hits);
    /// Whether any named function of the program itself has at least a twentieth of the time: else libraries' are told.
    bool has_own_code() const { return own_; }
    std::uint64_t weight() const { return weight_; }
    std::uint64_t hits() const { return hits_; }

    /// The nearest function towards the root, from `node` on, that stories may be of; 0: none.
    NodeId teller_of(NodeId node) const;
    bool may_tell(FunctionId function) const { return tells_[shown_[function]]; }

private:
    using Path = std::vector<FunctionId>;

    std::vector<StoryPart> parts_of(const std::vector<NodeId>& nodes, const Path& path) const;
    StoryPart part_at(NodeId node) const;
    std::optional<StoryPart> below(const StoryPart& library, const Path& path) const;
    std::vector<StoryPart> named_below(const StoryPart& nameless, const Path& path) const;
    bool is_of_interpreter(FunctionId id) const;
    bool leads_on(NodeId node, const Path& path) const;
    bool is_other_library(FunctionId id, const Path& path) const;
    std::string work_of_kernel(NodeId node) const;
    std::string only_call(NodeId node) const;
    std::vector<NodeId> nodes_of(FunctionId function) const;
    std::uint64_t weight_of(const std::vector<NodeId>& nodes) const;
    void cut_recursion(Path& path) const;
    void finish(Story& story);
    void leave_out(const Story& story);
    template <class Visit>
    void each_callee(NodeId node, Visit visit) const {
        for (NodeId child = child_[node]; child != 0; child = sibling_[child]) visit(child);
    }

    const NamedProfile& profile_;
    std::vector<Role> roles_;
    std::vector<FunctionId> shown_;
    std::vector<bool> tells_;          // of each function
    std::set<StringId> interpreters_;  // files of functions that only call others for an interpreter
    std::vector<NodeId> child_, sibling_;
    struct Weights {  // by node
        std::vector<std::uint64_t> self, self_hits, total, total_hits;
        void sum_up(const std::vector<NamedNode>& nodes);
    };
    Weights all_, left_;  // of all stacks, and of those that no story has yet
    const Weights* now_ = &left_;
    std::set<FunctionId> told_;  // on the paths of earlier stories
    bool own_ = false;
    std::uint64_t weight_ = 0, hits_ = 0, known_ = 0;  // without notes
};

}  // namespace flameprobe
