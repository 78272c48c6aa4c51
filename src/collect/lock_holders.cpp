#include "collect/lock_holders.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/proc.hpp"
#include "base/self_memory.hpp"
#include "collect/pipeline.hpp"
#include "profile/counters.hpp"

namespace flameprobe {
namespace {

constexpr std::size_t longest_chain = 8;    // of holders that a stack shows
constexpr std::size_t longest_circle = 64;  // that is found
constexpr std::size_t most_awaiting = 64;   // looks at one holder between two of its samples

std::string with_tid(const LockCycle::Member& member) { return member.name + " (" + std::to_string(member.tid) + ")"; }

std::string describe_cycle(const LockCycle& cycle) {
    std::string text(deadlock_begin);
    for (std::size_t at = 0; at < cycle.members.size(); ++at) {
        const auto& waiter = cycle.members[at];
        const auto& holder = cycle.members[(at + 1) % cycle.members.size()];
        text += (at == 0 ? "" : ", ") + with_tid(waiter) + " waits for the lock at " + lock_address(waiter.lock) +
                " that " + (cycle.members.size() == 1 ? "it holds itself" : with_tid(holder) + " holds");
    }
    return text;
}

}  // namespace

StackId Held::nearest() const {
    if (before.stack == 0 || after.stack == 0) return before.stack != 0 ? before.stack : after.stack;
    return after.time_ns - time_ns < time_ns - before.time_ns ? after.stack : before.stack;
}

LockHolders::LockHolders(Pipeline& pipeline, BlockedReader& reader)
    : pipeline_(pipeline), reader_(reader), functions_(pipeline.code_map()) {
    pipeline_.tell_samples(
        [this](ThreadId thread, StackId stack, std::uint64_t time_ns) { sampled(thread, stack, time_ns); });
}

void LockHolders::begin_look() {
    for (auto& cycle : cycles_) {
        if (cycle->lasts) continue;
        if (!still_waits(*cycle)) {
            cycle.reset();
            continue;
        }
        cycle->lasts = true;
        deadlocks_.push_back(describe(*cycle));
    }
    std::erase(cycles_, nullptr);
    // Of a holder that ended without another sample nobody else would.
    std::erase_if(awaiting_, [](const auto& thread) {
        return std::ranges::all_of(thread.second, [](const auto& held) { return held.expired(); });
    });
}

std::size_t LockHolders::memory() const {
    constexpr std::size_t node = 3 * sizeof(void*);
    std::size_t bytes = seen_.size() * (sizeof(Seen) + node) + last_samples_.size() * (sizeof(Held::Near) + node);
    for (const auto& [thread, held] : awaiting_)
        bytes += node + sizeof held + held.capacity() * (sizeof held[0] + sizeof(Held));
    return bytes;
}

Deadlock LockHolders::describe(const LockCycle& cycle) {
    Deadlock deadlock{describe_cycle(cycle), {}};
    for (const Member& member : cycle.members) {
        bool whole = false;
        const StackId stack = pipeline_.blocked_stack(member.where, whole);
        deadlock.stacks.push_back(with_tid(member) + " waits in " + pipeline_.stacks().text_of(stack));
    }
    return deadlock;
}

std::shared_ptr<HeldLooks> LockHolders::find(std::uint32_t tid, const BlockedThread& where) {
    chain_.clear();
    if (!futex_wait(where)) return nullptr;
    const Member waiter{.tid = tid, .name = {}, .where = where, .function = functions_.of(pipeline_.last_frames())};
    auto held = holder_of(waiter);
    if (!held) return nullptr;
    auto looks = std::make_shared<HeldLooks>(waiter);
    looks->add(std::move(held));
    return looks;
}

void LockHolders::look_again(HeldLooks& looks) {
    chain_.clear();
    if (auto held = holder_of(looks.waiter())) looks.add(std::move(held));
}

std::optional<std::uint32_t> LockHolders::owner_now(const Member& member) const {
    const auto wait = futex_wait(member.where);
    const auto place = wait ? lock_place(member.function, *wait) : std::nullopt;
    if (!place) return std::nullopt;
    LockWords words{};
    const auto bytes = std::as_writable_bytes(std::span(words).first(place->words));
    if (read_self(place->address, bytes) != bytes.size()) return std::nullopt;
    return lock_owner(member.function, *wait, words);
}

std::shared_ptr<Held> LockHolders::holder_of(Member waiter) {
    const auto owner = owner_now(waiter);
    BlockedThread again;
    if (!owner || reader_.read(waiter.tid, again) != BlockedReader::Outcome::blocked || again != waiter.where ||
        owner_now(waiter) != owner)
        return nullptr;
    auto held = std::make_shared<Held>();
    held->lock = waiter.lock = lock_place(waiter.function, *futex_wait(waiter.where))->address;
    held->tid = *owner;
    held->time_ns = pipeline_.since_start(monotonic_ns());
    chain_.push_back(std::move(waiter));
    const auto in_chain = std::ranges::find(chain_, *owner, &Member::tid);
    if (in_chain != chain_.end()) {
        held->name = name_of(*owner);
        held->cycle = cycle_from(static_cast<std::size_t>(in_chain - chain_.begin()));
        return held;
    }
    bool runs = false;
    const Seen* const seen = blocked_holder(*owner, runs);
    if (seen == nullptr && !runs) return nullptr;  // no thread of this process: it died with the lock, or never had it
    if (seen == nullptr) {
        held->name = name_of(*owner);
        find_samples(held);
        return held;
    }
    held->name = seen->name;
    held->blocked = seen->stack;
    const std::size_t number = chain_.size();
    if (number >= longest_circle || !futex_wait(seen->where)) return held;
    auto next = holder_of({.tid = *owner, .name = held->name, .where = seen->where, .function = seen->function});
    if (number < longest_chain)
        held->next = std::move(next);
    else if (next)
        held->cycle = next->cycle;
    return held;
}

/// Null: it runs, or has run meanwhile (`runs`), or is not there. One that has not run since it was read is where it
/// was.
const LockHolders::Seen* LockHolders::blocked_holder(std::uint32_t tid, bool& runs) {
    const auto before = reader_.schedule(tid);
    if (const auto known = seen_.find(tid); before && known != seen_.end() && known->second.slices == before->slices)
        return &known->second;
    BlockedThread where;
    const auto outcome = reader_.read(tid, where);
    runs = outcome == BlockedReader::Outcome::blocked || outcome == BlockedReader::Outcome::runs;
    if (outcome != BlockedReader::Outcome::blocked || !before) return nullptr;
    bool whole = false;
    const StackId stack = pipeline_.blocked_stack(where, whole);
    const Seen seen{before->slices, where, stack, functions_.of(pipeline_.last_frames()), name_of(tid)};
    const auto after = reader_.schedule(tid);
    if (!after || after->slices != before->slices) return nullptr;
    return &(seen_[tid] = seen);
}

void LockHolders::find_samples(const std::shared_ptr<Held>& held) {
    const ThreadId thread = pipeline_.thread_of(held->tid, true);
    if (const auto last = last_samples_.find(thread); last != last_samples_.end()) held->before = last->second;
    auto& others = awaiting_[thread];
    if (others.size() >= most_awaiting) others.erase(others.begin());
    others.push_back(held);
}

// A sample of before the look may be drained after it.
void LockHolders::sampled(ThreadId thread, StackId stack, std::uint64_t time_ns) {
    last_samples_[thread] = {stack, time_ns};
    const auto found = awaiting_.find(thread);
    if (found == awaiting_.end()) return;
    std::erase_if(found->second, [&](const std::weak_ptr<Held>& waiting) {
        const auto held = waiting.lock();
        if (!held) return true;
        const bool later = time_ns > held->time_ns;
        (later ? held->after : held->before) = {stack, time_ns};
        return later;
    });
    if (found->second.empty()) awaiting_.erase(found);
}

std::shared_ptr<const LockCycle> LockHolders::cycle_from(std::size_t first) {
    const std::span members(chain_.data() + first, chain_.size() - first);
    const auto known = std::ranges::find_if(cycles_, [&](const auto& cycle) {
        return cycle->members.size() == members.size() && std::ranges::all_of(cycle->members, [&](const Member& one) {
                   const auto same = std::ranges::find(members, one.tid, &Member::tid);
                   return same != members.end() && same->lock == one.lock;
               });
    });
    if (known != cycles_.end()) return *known;
    auto cycle = std::make_shared<LockCycle>();
    for (Member& member : members) {
        const auto schedule = reader_.schedule(member.tid);
        if (!schedule || futex_wait(member.where)->timed) return nullptr;  // a time limit ends it
        cycle->members.push_back(member);
        cycle->members.back().name = name_of(member.tid);
        cycle->members.back().slices = schedule->slices;
    }
    cycles_.push_back(cycle);
    return cycle;
}

bool LockHolders::still_waits(const LockCycle& cycle) {
    for (std::size_t at = 0; at < cycle.members.size(); ++at) {
        const Member& member = cycle.members[at];
        const auto schedule = reader_.schedule(member.tid);
        BlockedThread where;
        if (!schedule || schedule->slices != member.slices ||
            reader_.read(member.tid, where) != BlockedReader::Outcome::blocked || where != member.where ||
            owner_now(member) != cycle.members[(at + 1) % cycle.members.size()].tid)
            return false;
    }
    return true;
}

std::string LockHolders::name_of(std::uint32_t tid) const {
    const std::string name = pipeline_.threads().name_of(tid);
    return name.empty() ? "thread " + std::to_string(tid) : name;
}

StackId LockHolders::stack_with(StackId stack, const Held& held) {
    // Each name is a note of its own.
    constexpr std::size_t most_names = 1024;
    if (named_.size() < most_names) named_.insert(held.name);
    const std::string name = named_.contains(held.name) ? held.name : "another thread";
    stack = pipeline_.stacks().held_above(stack, "[held by " + name + "]", held.lock);
    if (held.cycle) return held.cycle->lasts ? pipeline_.stacks().note_above(stack, "[deadlock]") : stack;
    if (held.blocked != 0) {
        stack = pipeline_.stacks().stack_above(stack, held.blocked);
        return held.next ? stack_with(stack, *held.next) : stack;
    }
    const StackId sample = held.nearest();
    if (sample == 0) return pipeline_.stacks().note_above(stack, "[on a CPU, not sampled]");
    return pipeline_.stacks().stack_above(pipeline_.stacks().note_above(stack, "[its CPU sample nearest in time]"),
                                          sample);
}

}  // namespace flameprobe
