#include "session/continuation.hpp"

#include <algorithm>

namespace flameprobe {
namespace {

// By chance, two paths of calls agree in one frame about as often as a function has few places that call on: twelve in
// a row is 1 in 4096 for functions with two such places. Frames of kilobytes are few in a copy, but their addresses
// agree by chance even less.
constexpr std::size_t enough_links = 12;
constexpr std::size_t enough_large_links = 4;
constexpr std::uint64_t enough_bytes = 16u << 10;

/// The first `count` frames of a stack. A link is a frame's CFA and the return address that is stored below it, so the
/// frame that is last has none.
struct Known {
    const std::vector<CodeFrame>& frames;
    std::size_t count;

    std::size_t links() const { return count == 0 ? 0 : count - 1; }
    /// The number of links up to the one at `cfa`, 0 if there is none.
    std::size_t links_to(std::uint64_t cfa) const {
        const auto end = frames.begin() + static_cast<std::ptrdiff_t>(links());
        const auto at = std::lower_bound(frames.begin(), end, cfa,
                                         [](const CodeFrame& frame, std::uint64_t value) { return frame.cfa < value; });
        return at == end || at->cfa != cfa ? 0 : static_cast<std::size_t>(at - frames.begin()) + 1;
    }
};

/// The outermost link that both have, as the number of links up to it; 0 and 0 if they do not share enough from there
/// on.
struct Junction {
    std::size_t in_first = 0, in_second = 0;
    explicit operator bool() const { return in_first != 0; }
};

Junction junction(const Known& first, const Known& second) {
    Junction at{first.links(), second.links()};
    if (at.in_first == 0 || at.in_second == 0) return {};
    const std::uint64_t first_end = first.frames[at.in_first - 1].cfa, second_end = second.frames[at.in_second - 1].cfa;
    if (first_end > second_end) at.in_first = first.links_to(second_end);
    if (second_end > first_end) at.in_second = second.links_to(first_end);
    std::size_t same = 0;
    const std::size_t most = std::min(at.in_first, at.in_second);
    const auto link = [](const Known& known, std::size_t index, const Known& other, std::size_t other_index) {
        return known.frames[index].cfa == other.frames[other_index].cfa &&
               known.frames[index + 1].address == other.frames[other_index + 1].address;
    };
    while (same < most && same < enough_links && link(first, at.in_first - same - 1, second, at.in_second - same - 1))
        ++same;
    if (same >= enough_links) return at;
    if (same < enough_large_links) return {};
    const std::uint64_t bytes = first.frames[at.in_first - 1].cfa - first.frames[at.in_first - same].cfa;
    return bytes >= enough_bytes ? at : Junction{};
}

}  // namespace

bool continue_like(std::vector<CodeFrame>& frames, std::size_t proven, const std::vector<CodeFrame>& whole) {
    const Junction at = junction({frames, proven}, {whole, whole.size()});
    if (!at || at.in_first != proven - 1) return false;
    // The copy ended before the CFA of its last frame was known.
    frames.resize(proven - 1);
    frames.insert(frames.end(), whole.begin() + static_cast<std::ptrdiff_t>(at.in_second), whole.end());
    return true;
}

bool Continuations::extend(ThreadId thread, Walk& walk) const {
    const auto found = chains_.find(thread);
    if (found == chains_.end()) return false;
    const Chain& chain = found->second;
    if (chain.pending.empty()) return continue_like(walk.frames, walk.frames_in_copy, chain.whole);
    const DeepSample& last = chain.pending.back();
    return last.read_ns != 0 && continue_like(walk.frames, walk.frames_in_copy, last.frames);
}

void Continuations::add(DeepSample deep, bool extended) {
    Chain& chain = chains_[deep.sample.thread];
    chain.seen_ns = deep.came_ns;
    if (chain.pending.empty() && extended) {
        decide(deep, true);
        chain.whole = std::move(deep.frames);
        return;
    }
    chain.whole.clear();
    if (!chain.pending.empty()) {
        const DeepSample& last = chain.pending.back();
        if (extended)
            deep.read_ns = last.read_ns;
        else if (!junction({last.frames, last.proven}, {deep.frames, deep.proven}))
            cut(chain);
    }
    chain.pending.push_back(std::move(deep));
    const DeepSample& newest = chain.pending.back();
    if (!extended || newest.time_ns < newest.read_ns) return;
    chain.whole = newest.frames;
    settle(chain, chain.whole);
}

void Continuations::saw_whole(ThreadId thread, const std::vector<CodeFrame>& frames, std::uint64_t now_ns) {
    const auto found = chains_.find(thread);
    if (found == chains_.end()) return;
    settle(found->second, frames);
    found->second.whole = frames;
    found->second.seen_ns = now_ns;
}

// From the newest back: each goes on as the one after it does.
void Continuations::settle(Chain& chain, const std::vector<CodeFrame>& whole) {
    const std::vector<CodeFrame>* next = &whole;
    for (auto at = chain.pending.rbegin(); at != chain.pending.rend(); ++at) {
        std::vector<CodeFrame> frames(at->frames.begin(), at->frames.begin() + static_cast<std::ptrdiff_t>(at->proven));
        bool good = next != nullptr && continue_like(frames, at->proven, *next);
        // Scopes beyond the copy were placed in the frames that memory held.
        const bool scopes_beyond = !at->labels.empty() && at->labels.front().frame >= at->proven;
        if (good && scopes_beyond) good = frames.size() == at->frames.size();
        if (good) at->frames = std::move(frames);
        decide(*at, good);
        next = good ? &at->frames : nullptr;
    }
    chain.pending.clear();
}

void Continuations::cut(Chain& chain) {
    for (auto& deep : chain.pending) decide(deep, false);
    chain.pending.clear();
}

void Continuations::decide(DeepSample& deep, bool whole) {
    ++(whole ? accepted_ : rejected_);
    tell_(deep, whole);
}

void Continuations::give_up(std::uint64_t oldest_ns, std::uint64_t idle_ns) {
    for (auto& [thread, chain] : chains_)
        if (!chain.pending.empty() && chain.pending.front().came_ns < oldest_ns) cut(chain);
    std::erase_if(chains_,
                  [&](const auto& each) { return each.second.seen_ns < idle_ns && each.second.pending.empty(); });
}

std::size_t Continuations::memory() const {
    std::size_t bytes = 0;
    for (const auto& [thread, chain] : chains_) {
        bytes += sizeof chain + chain.whole.capacity() * sizeof(CodeFrame);
        for (const auto& deep : chain.pending) bytes += sizeof deep + deep.frames.capacity() * sizeof(CodeFrame);
    }
    return bytes;
}

}  // namespace flameprobe
