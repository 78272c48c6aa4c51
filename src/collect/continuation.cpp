#include "collect/continuation.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/self_memory.hpp"

namespace flameprobe {

namespace {

/// Where the first `proven` frames join `whole`, as the number of whole's links up to there.
std::size_t joins(const std::vector<CodeFrame>& frames, std::size_t proven, const std::vector<CodeFrame>& whole,
                  const Enough& enough) {
    const Junction at = junction({frames, proven}, {whole, whole.size()}, enough);
    return at && at.in_first == proven - 1 ? at.in_second : 0;
}

/// As continue_like, between a whole stack from before and one from after.
bool continue_between(std::vector<CodeFrame>& frames, std::size_t proven, const std::vector<CodeFrame>& before,
                      const std::vector<CodeFrame>& after) {
    const std::size_t earlier = joins(frames, proven, before, between_two_alike);
    const std::size_t later = joins(frames, proven, after, between_two_alike);
    if (earlier == 0 || later == 0 || !alike_from(before, earlier, after, later)) return false;
    continue_by(frames, proven, after, later);
    return true;
}

}  // namespace

std::size_t LiveStack::read(std::uint64_t address, std::span<std::byte> out) {
    const std::size_t wanted = std::min<std::uint64_t>(out.size(), budget_);
    const std::size_t got = read_self(address, out.first(wanted));
    budget_ -= got;
    read_any_ = read_any_ || got != 0;
    return got;
}

bool LiveStack::copy_still_true() const {
    std::array<std::byte, 256> now;
    const std::size_t size = std::min(now.size(), copy_.bytes.size());
    const std::size_t at = copy_.bytes.size() - size;
    return read_self(copy_.address + at, std::span(now).first(size)) == size &&
           std::memcmp(now.data(), copy_.bytes.data() + at, size) == 0;
}

bool continue_like(std::vector<CodeFrame>& frames, std::size_t proven, const std::vector<CodeFrame>& whole) {
    const std::size_t joint = joins(frames, proven, whole, alone);
    if (joint != 0) continue_by(frames, proven, whole, joint);
    return joint != 0;
}

/// The thread's stack in which these frames, of a copy, probably lie: the one that ends next above them. Another one
/// shares nothing with them, so a wrong guess proves nothing.
Continuations::Chains::const_iterator Continuations::chain_around(ThreadId thread,
                                                                  const std::vector<CodeFrame>& frames) const {
    const auto next = frames.empty() ? chains_.end() : chains_.lower_bound({thread, frames.back().cfa});
    return next != chains_.end() && next->first.first == thread ? next : chains_.end();
}

/// The thread's stack that has this outermost frame, or the one whose outermost frame is not known.
Continuations::Chains::iterator Continuations::chain_up_to(ThreadId thread, std::uint64_t outermost_cfa) {
    const auto exact = chains_.find({thread, outermost_cfa});
    if (exact != chains_.end()) return exact;
    auto unknown = chains_.extract({thread, not_known});
    if (!unknown) return chains_.end();
    unknown.key().second = outermost_cfa;
    return chains_.insert(std::move(unknown)).position;
}

bool Continuations::extend(ThreadId thread, Walk& walk) const {
    const auto found = chain_around(thread, walk.frames);
    if (found == chains_.end()) return false;
    const Chain& chain = found->second;
    if (chain.pending.empty()) return continue_like(walk.frames, walk.frames_in_copy, chain.whole);
    const DeepSample& last = chain.pending.back();
    return last.read_ns != 0 && continue_like(walk.frames, walk.frames_in_copy, last.frames);
}

bool Continuations::agrees_with_last(ThreadId thread, const Walk& read) const {
    const auto found = chain_around(thread, read.frames);
    if (found == chains_.end() || !found->second.pending.empty()) return false;
    const auto& whole = found->second.whole;
    const std::size_t joint = joins(read.frames, read.frames_in_copy, whole, between_two_alike);
    return joint != 0 && alike_from(read.frames, read.frames_in_copy - 1, whole, joint);
}

void Continuations::add(DeepSample deep, bool extended) {
    // With fewer than two frames in the copy no other sample can prove anything: it is decided at once.
    if (deep.proven < 2) return emit_(deep, false);
    if (chains_.size() >= most_chains) forget_idle(~std::uint64_t{0});
    const ThreadId thread = deep.sample.thread;
    const bool up_to_start = extended || deep.read_ns != 0;
    const auto known = up_to_start ? chain_up_to(thread, deep.frames.back().cfa) : chain_around(thread, deep.frames);
    const Key key =
        known != chains_.end() ? known->first : Key{thread, up_to_start ? deep.frames.back().cfa : not_known};
    Chain& chain = chains_[key];
    chain.seen_ns = deep.came_ns;
    deep.read_round = round_;
    if (chain.pending.empty() && extended) {
        emit_(deep, true);
        chain.whole = std::move(deep.frames);
        return;
    }
    if (!chain.pending.empty()) {
        DeepSample& last = chain.pending.back();
        last.like_next =
            extended || static_cast<bool>(junction({last.frames, last.proven}, {deep.frames, deep.proven}, alone));
        if (extended) deep.read_ns = last.read_ns, deep.read_round = last.read_round;
        last.frames.resize(last.proven);
        last.frames.shrink_to_fit();
        if (chain.pending.size() == most_pending) cut(chain, most_pending / 2);
    }
    deep.walked = deep.frames.size();
    chain.pending.push_back(std::move(deep));
    const DeepSample& newest = chain.pending.back();
    if (!extended || !taken_after_reading(newest)) return;
    settle(chain, std::vector(newest.frames));
}

// Handlers stamp their samples with the last tick's time, which may be before the reading. But a sample that came in
// the second drain after the reading was not there when the first one began: it was taken later, or its thread was in
// the handler all the time.
bool Continuations::taken_after_reading(const DeepSample& deep) const {
    return deep.time_ns >= deep.read_ns || round_ >= deep.read_round + 2;
}

void Continuations::saw_whole(ThreadId thread, const std::vector<CodeFrame>& frames, std::uint64_t now_ns) {
    const auto found = frames.empty() ? chains_.end() : chain_up_to(thread, frames.back().cfa);
    if (found == chains_.end()) return;
    settle(found->second, frames);
    found->second.seen_ns = now_ns;
}

// From the newest back: each is continued by the one after it, or by what `whole` and the last proven one before all of
// them agree in.
void Continuations::settle(Chain& chain, const std::vector<CodeFrame>& whole) {
    const std::vector<CodeFrame>* next = &whole;
    for (auto at = chain.pending.rbegin(); at != chain.pending.rend(); ++at) {
        const bool newest = at == chain.pending.rbegin();
        bool good = next != nullptr && (newest || at->like_next) && continue_like(at->frames, at->proven, *next);
        good = good || continue_between(at->frames, at->proven, chain.whole, whole);
        // Scopes beyond the copy were placed in the frames that live memory held: there must be as many.
        const bool scopes_beyond = !at->labels.empty() && at->labels.front().frame >= at->proven;
        if (good && scopes_beyond) good = at->frames.size() == at->walked;
        emit_(*at, good);
        next = good ? &at->frames : nullptr;
    }
    chain.pending.clear();
    chain.whole = whole;
}

void Continuations::cut(Chain& chain, std::size_t count) {
    const auto end = chain.pending.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto at = chain.pending.begin(); at != end; ++at) emit_(*at, false);
    chain.pending.erase(chain.pending.begin(), end);
}

void Continuations::give_up(std::uint64_t oldest_ns, std::uint64_t idle_ns) {
    ++round_;
    for (auto& [key, chain] : chains_)
        if (!chain.pending.empty() && chain.pending.front().came_ns < oldest_ns) cut(chain, chain.pending.size());
    forget_idle(idle_ns);
}

void Continuations::forget_idle(std::uint64_t idle_ns) {
    std::erase_if(chains_,
                  [&](const auto& each) { return each.second.seen_ns < idle_ns && each.second.pending.empty(); });
}

std::size_t Continuations::memory() const {
    std::size_t bytes = 0;
    for (const auto& [key, chain] : chains_) {
        bytes += sizeof chain + chain.whole.capacity() * sizeof(CodeFrame);
        for (const auto& deep : chain.pending) bytes += sizeof deep + deep.frames.capacity() * sizeof(CodeFrame);
    }
    return bytes;
}

}  // namespace flameprobe
