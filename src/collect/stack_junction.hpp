// Stacks that go on beyond their copies: where two of one thread meet, and whether what they share there shows that the
// thread has not left those frames in between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "profile/model.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// An open scope, shown on the leaf's side of its frame.
struct StackLabel {
    std::uint32_t frame;  // from the leaf
    std::uint32_t text;
};

/// A sample whose stack goes on beyond its copy.
struct DeepSample {
    Sample sample;
    ThreadId shown = 0;               // under which name the profile has it: the thread's when it was sampled
    std::uint64_t time_ns = 0;        // when it was taken, or up to a tick before; CLOCK_MONOTONIC, as the next two
    std::uint64_t came_ns = 0;        // when it was added
    std::uint64_t read_ns = 0;        // when live memory was read for `frames`; 0: they are from the copy alone
    std::vector<CodeFrame> frames{};  // leaf first
    std::size_t proven = 0;           // how many of the frames are from the copy
    std::vector<StackLabel> labels{};
    std::vector<std::uint64_t> kernel_chain{};
    MappingId system_call = 0;  // a note; 0: none
    // While it is pending and its thread has newer samples:
    bool like_next = false;  // shares enough with the next newer one
    std::size_t walked = 0;  // how many frames there were before all but `proven` were dropped
    std::uint64_t read_round = 0;
};

/// How much two stacks must share. Different call paths may agree in a frame by chance, the more often the fewer calls
/// its function makes: with two calls each, sixteen frames in a row agree once in 65,536. A copy holds few frames of
/// kilobytes, but their addresses agree by chance even less often. A frame that follows from those further out tells
/// nothing: a recursion of 448 frames looks the same for each of its callers. So only the others count, and only those
/// near the outermost.
struct Enough {
    std::size_t links;
    std::size_t large_links;  // where they span `bytes`
    std::uint64_t bytes;
};
inline constexpr Enough alone{16, 4, 16u << 10};
inline constexpr Enough between_two_alike{2, 2, 0};

/// The first `count` frames of a stack, leaf first. A link is a frame's CFA and the return address that is stored below
/// it, so the last frame has none.
struct KnownFrames {
    const std::vector<CodeFrame>& frames;
    std::size_t count;

    std::size_t links() const { return count == 0 ? 0 : count - 1; }
};

/// A link that both have, as the number of links up to it; 0 and 0 if there is none.
struct Junction {
    std::size_t in_first = 0, in_second = 0;
    explicit operator bool() const { return in_first != 0; }
};

/// The number of links up to the one at `cfa`, 0 if there is none.
inline std::size_t links_to(const KnownFrames& known, std::uint64_t cfa) {
    const auto end = known.frames.begin() + static_cast<std::ptrdiff_t>(known.links());
    const auto at = std::lower_bound(known.frames.begin(), end, cfa,
                                     [](const CodeFrame& frame, std::uint64_t value) { return frame.cfa < value; });
    return at == end || at->cfa != cfa ? 0 : static_cast<std::size_t>(at - known.frames.begin()) + 1;
}

/// A stack's links from the outermost shared one inwards, by index from there.
struct Inwards {
    const std::vector<CodeFrame>& frames;
    std::size_t links;

    const CodeFrame& frame(std::size_t index) const { return frames[links - index - 1]; }
    std::uint64_t return_address(std::size_t index) const { return frames[links - index].address; }
    bool same(std::size_t index, const Inwards& other) const {
        return frame(index).cfa == other.frame(index).cfa && return_address(index) == other.return_address(index);
    }
    /// The index at which what `index` has stood last before it, or `index` itself.
    std::size_t earlier(std::size_t index) const {
        for (std::size_t at = index; at-- > 0;)
            if (return_address(at) == return_address(index)) return at;
        return index;
    }
};

/// Counts the links that those before them do not foretell: as long as a row of calls repeats one that stood before,
/// each link is foretold by its like there.
class Telling {
public:
    explicit Telling(const Inwards& stack) : stack_(stack) {}

    bool is(const Enough& enough) const {
        return count_ >= enough.links || (count_ >= enough.large_links && bytes_ >= enough.bytes);
    }
    void add(std::size_t index) {
        const bool foretold = index > 0 && stack_.return_address(index) == stack_.return_address(like_);
        if (!foretold) {
            ++count_;
            bytes_ += index == 0 ? 0 : stack_.frame(index - 1).cfa - stack_.frame(index).cfa;
            like_ = stack_.earlier(index);
        }
        // What comes next is as what came next there.
        like_ += foretold || like_ != index ? 1 : 0;
    }

private:
    const Inwards& stack_;
    std::size_t like_ = 0;
    std::size_t count_ = 0;
    std::uint64_t bytes_ = 0;  // of their frames
};

/// Replaces all frames but the first `proven`, of a copy, by those of `whole` from `joint` on. The copy ended before
/// the CFA of its last frame was known.
inline void continue_by(std::vector<CodeFrame>& frames, std::size_t proven, const std::vector<CodeFrame>& whole,
                        std::size_t joint) {
    frames.resize(proven - 1);
    frames.insert(frames.end(), whole.begin() + static_cast<std::ptrdiff_t>(joint), whole.end());
}

inline bool alike_from(const std::vector<CodeFrame>& first, std::size_t at, const std::vector<CodeFrame>& second,
                       std::size_t second_at) {
    return std::equal(first.begin() + static_cast<std::ptrdiff_t>(at), first.end(),
                      second.begin() + static_cast<std::ptrdiff_t>(second_at), second.end(),
                      std::mem_fn(&CodeFrame::is_like));
}

/// The stacks' outermost links that have one CFA, if there are any.
inline Junction outermost_shared(const KnownFrames& first, const KnownFrames& second) {
    Junction at{first.links(), second.links()};
    if (at.in_first == 0 || at.in_second == 0) return {};
    const std::uint64_t first_end = first.frames[at.in_first - 1].cfa, second_end = second.frames[at.in_second - 1].cfa;
    if (first_end > second_end) at.in_first = links_to(first, second_end);
    if (second_end > first_end) at.in_second = links_to(second, first_end);
    return at.in_first == 0 || at.in_second == 0 ? Junction{} : at;
}

/// The outermost link that both have, if they share enough from there on.
inline Junction junction(const KnownFrames& first, const KnownFrames& second, const Enough& enough) {
    const Junction at = outermost_shared(first, second);
    const Inwards one{first.frames, at.in_first}, other{second.frames, at.in_second};
    // What is far inside says little about who called the frames here: the leaves of a recursion are alike, too.
    const std::size_t most = std::min({at.in_first, at.in_second, 4 * enough.links});
    Telling telling(one);
    for (std::size_t index = 0; index < most && one.same(index, other); ++index) {
        telling.add(index);
        if (telling.is(enough)) return at;
    }
    return {};
}

}  // namespace flameprobe
