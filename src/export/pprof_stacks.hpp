// A profile's stacks as pprof sees them: an address with the chain of functions inlined there is one location.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "export/trie_index.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

class PprofStacks {
public:
    explicit PprofStacks(const NamedProfile& profile);

    struct Stack {
        std::vector<std::uint64_t> locations;  // leaf first; ids count from 1
        std::vector<FunctionId> scopes;        // innermost first
    };
    /// Threads and scopes are left out of the locations, as pprof has labels for them, unless there is nothing else.
    void stack(NodeId leaf, Stack& stack);

    /// Frames of a location, innermost first.
    void frames(std::uint64_t location, std::vector<FrameId>& frames) const;
    /// Ids run from 1 to size() - 1; only those that a stack was given with are used().
    std::size_t size() const { return chains_.size(); }
    bool used(std::uint64_t location) const { return chains_[location].used; }

private:
    struct Chain {
        std::uint32_t outer = 0;  // what this frame is inlined into; 0: it has an address of its own
        FrameId frame = 0;
        bool used = false;
    };

    std::uint32_t chain(std::uint32_t outer, FrameId frame);
    FrameKind kind(NodeId node) const;

    const NamedProfile& profile_;
    TrieIndex index_;
    std::vector<Chain> chains_;
    std::vector<std::uint32_t> chain_of_node_;
};

}  // namespace flameprobe
