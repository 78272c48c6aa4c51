#include "collect/caller_evidence.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace flameprobe {

namespace {

/// Of the links below the stack's frame `joint`, as many as prove something where they tell enough.
std::uint64_t hash_at(ThreadId thread, const std::vector<CodeFrame>& frames, std::size_t joint) {
    std::uint64_t hash = thread;
    for (std::size_t at = joint, count = 1; at-- > 0 && count <= alone.links; ++count) {
        hash = mix(hash, mix(frames[at].cfa, frames[at + 1].address));
        if (count > alone.large_links && frames[joint - 1].cfa - frames[at].cfa >= alone.bytes) break;
    }
    return hash;
}

/// How many of the outermost frames both have.
std::size_t alike(const std::vector<CodeFrame>& one, const std::vector<CodeFrame>& other) {
    const auto end =
        std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend(), std::mem_fn(&CodeFrame::is_like));
    return static_cast<std::size_t>(end.first - one.rbegin());
}

}  // namespace

bool CallerEvidence::wants_look(ThreadId thread, const Walk& walk, std::uint64_t now_ns) const {
    const auto found = places_.find(hash_at(thread, walk.frames, walk.frames_in_copy - 1));
    if (found == places_.end()) return true;
    const Callers& callers = found->second;
    return callers.looks < enough_looks ? callers.round != round_ : now_ns - callers.looked_ns >= ns_between_looks;
}

bool CallerEvidence::refutes(ThreadId thread, const Walk& walk) const {
    if (walk.frames_in_copy < 2) return false;
    const auto found = places_.find(hash_at(thread, walk.frames, walk.frames_in_copy - 1));
    return found != places_.end() && found->second.stack == nullptr;
}

std::uint64_t CallerEvidence::turn(ThreadId thread) {
    Turns& turns = turns_[thread];
    if (std::exchange(turns.round, round_) != round_) ++turns.count;
    return turns.count;
}

// Leaves go deeper and come back, and the copy's end with them: what is learnt is about the places nearby, too.
void CallerEvidence::looked(ThreadId thread, const Walk& read, std::uint64_t now_ns) {
    make_room();
    const std::uint64_t now = turn(thread);
    const std::vector<CodeFrame>& frames = read.frames;
    const std::size_t first = read.frames_in_copy > nearby + 1 ? read.frames_in_copy - 1 - nearby : 1;
    const std::size_t end = std::min(read.frames_in_copy + nearby, frames.size());
    std::shared_ptr<const std::vector<CodeFrame>> stack;
    const std::vector<CodeFrame>* compared = nullptr;
    std::size_t same = 0;
    for (std::size_t joint = first; joint < end; ++joint) {
        const auto [found, is_new] = places_.try_emplace(hash_at(thread, frames, joint));
        Callers& callers = found->second;
        if (is_new) {
            if (stack == nullptr) {
                stack = std::make_shared<const std::vector<CodeFrame>>(frames);
                frames_ += frames.size();
            }
            callers.stack = stack;
            callers.joint = joint;
            callers.thread = thread;
        } else if (callers.stack == nullptr) {
            continue;
        } else {
            if (compared != callers.stack.get()) same = alike(frames, *(compared = callers.stack.get()));
            const std::size_t wanted = frames.size() - joint;
            if (same < wanted || callers.stack->size() - callers.joint != wanted) {
                compared = nullptr;
                refute(callers);
                continue;
            }
        }
        callers.turn = now;
        callers.looked_ns = now_ns;
        if (std::exchange(callers.round, round_) == round_) continue;
        if (++callers.looks >= enough_looks) decide(callers, true);
    }
}

void CallerEvidence::was_elsewhere(ThreadId thread) {
    if (turns_.contains(thread)) turn(thread);
}

void CallerEvidence::add(DeepSample deep) {
    make_room();
    const std::size_t joint = deep.proven - 1;
    const std::uint64_t key = hash_at(deep.sample.thread, deep.frames, joint);
    const auto [found, is_new] = places_.try_emplace(key);
    Callers& callers = found->second;
    if (is_new) {
        callers.stack = std::make_shared<const std::vector<CodeFrame>>(deep.frames);
        callers.joint = joint;
        callers.thread = deep.sample.thread;
        callers.turn = turns_[deep.sample.thread].count;
        frames_ += deep.frames.size();
    } else if (callers.stack != nullptr && !alike_from(deep.frames, joint, *callers.stack, callers.joint)) {
        refute(callers);
    }
    if (callers.stack == nullptr) return emit_(deep, false);
    if (callers.waiting.size() == most_waiting) decide(callers, false);
    if (!std::exchange(callers.is_listed, true)) waiting_.push_back(key);
    deep.frames.resize(deep.proven);
    deep.frames.shrink_to_fit();
    callers.waiting.push_back(std::move(deep));
}

void CallerEvidence::refute(Callers& callers) {
    decide(callers, false);
    callers.stack.reset();
}

void CallerEvidence::decide(Callers& callers, bool whole) {
    for (DeepSample& deep : callers.waiting) {
        if (whole) continue_by(deep.frames, deep.proven, *callers.stack, callers.joint);
        emit_(deep, whole);
    }
    callers.waiting.clear();
}

void CallerEvidence::settle(std::uint64_t oldest_ns) {
    ++round_;
    std::erase_if(waiting_, [&](std::uint64_t key) {
        Callers& callers = places_.at(key);
        const bool believed = callers.looks >= enough_looks;
        const bool has_left = turns_[callers.thread].count >= callers.turn + enough_turns;
        if (!callers.waiting.empty() && (has_left || callers.waiting.front().came_ns < oldest_ns))
            decide(callers, believed || has_left);
        callers.is_listed = !callers.waiting.empty();
        return !callers.is_listed;
    });
}

// What is forgotten has to be shown again.
void CallerEvidence::make_room() {
    if (places_.size() < most_places && frames_ < most_frames) return;
    std::erase_if(places_, [](const auto& each) { return each.second.stack != nullptr && !each.second.is_listed; });
    if (places_.size() > most_places / 2)
        std::erase_if(places_, [](const auto& each) { return !each.second.is_listed; });
    frames_ = 0;
}

std::size_t CallerEvidence::memory() const {
    std::size_t bytes = places_.size() * (sizeof(Callers) + 32) + frames_ * sizeof(CodeFrame);
    for (const std::uint64_t key : waiting_)
        for (const auto& deep : places_.at(key).waiting)
            bytes += sizeof deep + deep.frames.capacity() * sizeof(CodeFrame);
    return bytes;
}

}  // namespace flameprobe
