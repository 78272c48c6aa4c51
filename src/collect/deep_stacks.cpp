#include "collect/deep_stacks.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/hash.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t nearby = 64;  // frames on both sides of a copy's end: leaves go deeper and come back
constexpr std::size_t longest_round = 256;
constexpr std::size_t least_kept = 512, most_levels = 4096;  // of a chain's frames: clang's have 20,000
constexpr std::size_t most_chain_frames = std::size_t{1} << 19, most_waiting_frames = std::size_t{1} << 19;
constexpr std::size_t most_places = 8192, most_seen = std::size_t{1} << 15;

}  // namespace

/// The round which the frames, leaf first, go through up to the last one: three times, else there is none.
DeepStacks::Round DeepStacks::round_of(const std::vector<CodeFrame>& frames, std::size_t last) {
    Round round;
    for (std::size_t at = last; at-- > 1 && last - at <= longest_round && round.frames == 0;)
        if (frames[at].address == frames[last].address) round = {last - at, frames[last - 1].cfa - frames[at - 1].cfa};
    if (round.frames == 0 || last < 3 * round.frames + 1) return {};
    for (std::size_t at = last; at > last - 2 * round.frames; --at) {
        const std::size_t before = at - round.frames;
        if (frames[at].address != frames[before].address || frames[at - 1].cfa - frames[before - 1].cfa != round.bytes)
            return {};
    }
    return round;
}

/// Rounds of one size that begin at different addresses are different places.
std::uint64_t DeepStacks::key_at(ThreadId thread, std::uint64_t address, std::uint64_t sp, const Round& round) {
    const std::uint64_t phase = round.bytes == 0 ? 0 : mix(round.bytes, sp % round.bytes);
    return mix(mix(thread, address), phase);
}

DeepStacks::Keys DeepStacks::keys_of(ThreadId thread, const std::vector<CodeFrame>& frames, std::size_t in_copy) {
    const std::size_t last = in_copy - 1;
    return {key_at(thread, frames[last].address, 0, {}),
            key_at(thread, frames[last].address, frames[last - 1].cfa, round_of(frames, last))};
}

DeepStacks::Place* DeepStacks::place(std::uint64_t key) {
    const auto found = places_.find(key);
    return found == places_.end() ? nullptr : &found->second;
}

bool DeepStacks::wants_look(ThreadId thread, const Walk& walk, std::uint64_t now_ns) {
    // A look costs 50 to 200 ns a frame.
    constexpr std::uint64_t least_between_ns = 5'000'000, ns_a_frame = 4000, ns_a_frame_at_first = 400;
    if (walk.frames_in_copy < 2) return true;  // the kernel copies no page that was never touched: this touches it
    const Keys keys = keys_of(thread, walk.frames, walk.frames_in_copy);
    const Place *const levels = place(keys.levels), *const known = levels != nullptr ? levels : place(keys.callers);
    if (known != nullptr) {
        if ((levels != nullptr && levels->differs) || known->drain == drain_) return false;
        const bool at_first = levels == nullptr || !is_believed(*levels) || levels->looks < enough_exact_looks;
        const std::uint64_t least_ns =
            at_first ? ns_a_frame_at_first * known->frames : least_between_ns + ns_a_frame * known->frames;
        if (now_ns - known->looked_ns < least_ns) return false;
    }
    return tried_.insert(thread).second;
}

std::shared_ptr<DeepStacks::Chain> DeepStacks::chain_of(ThreadId thread, std::uint32_t tid, const Walk& read,
                                                        std::size_t outside) const {
    auto chain = std::make_shared<Chain>();
    chain->tid = tid;
    chain->frames.assign(read.frames.rbegin(), read.frames.rend());
    chain->prefix_keys.push_back(thread);
    for (std::size_t at = 0; at < outside; ++at)
        chain->prefix_keys.push_back(mix(chain->prefix_keys.back(), facts_.function_of(chain->frames[at].address)));
    return chain;
}

void DeepStacks::looked(ThreadId thread, std::uint32_t tid, const Walk& read, std::uint64_t now_ns) {
    const std::vector<CodeFrame>& frames = read.frames;
    if (read.frames_in_copy < 2 || frames.size() <= read.frames_in_copy) return;
    make_room();
    tried_.erase(thread);
    // The recursion begins with the outermost frame that stands again further in.
    const std::size_t size = frames.size(), joint = size - read.frames_in_copy;
    const std::size_t end = std::min(joint + nearby, size - 1);
    std::size_t recursion = end;
    std::unordered_set<std::uint64_t> inner;
    for (std::size_t at = 0; at < size; ++at)
        if (!inner.insert(frames[at].address).second) recursion = std::min(recursion, size - 1 - at);
    if (recursion == 0) return;  // a thread's start is in no recursion
    const std::shared_ptr<Chain> chain = chain_of(thread, tid, read, recursion);
    see(*chain, recursion, now_ns, true);

    const Round round = round_of(frames, read.frames_in_copy - 1);
    if (round.frames != 0) {
        const auto frame = [&](std::size_t at) -> const CodeFrame& { return frames[size - 1 - at]; };
        std::size_t from = joint;
        const auto repeats = [&](std::size_t at, std::size_t next) {
            return frame(at).address == frame(next).address && frame(at + 1).cfa == frame(next + 1).cfa + round.bytes;
        };
        while (from > 0 && repeats(from - 1, from - 1 + round.frames)) --from;
        chain->keep(std::max(from + round.frames + 1, least_kept));  // the rounds repeat
        const std::size_t outside = std::min(recursion, from);
        for (std::size_t at = joint; at < joint + round.frames; ++at) {
            learn(key_at(thread, frame(at).address, 0, {}), chain, outside, true, now_ns);
            Place& place =
                learn(key_at(thread, frame(at).address, frame(at + 1).cfa, round), chain, outside, true, now_ns);
            place.round = place.looks == 1 || place.round == round ? round : Round{};
            place.round_from = std::max(place.round_from, from);
        }
        return;
    }
    chain->keep(std::max(recursion + 1, most_levels));
    std::unordered_set<std::uint64_t> known;
    for (std::size_t at = joint > nearby ? joint - nearby : 1; at < end; ++at) {
        const std::uint64_t address = frames[size - 1 - at].address;
        if (known.insert(address).second)
            learn(key_at(thread, address, 0, {}), chain, std::min(recursion, at), recursion <= at, now_ns);
    }
}

DeepStacks::Place& DeepStacks::learn(std::uint64_t key, const ChainOwner& chain, std::size_t outside, bool in_recursion,
                                     std::uint64_t now_ns) {
    Place& place = places_[key];
    if (place.chain == nullptr) {
        if (chain.use_count() == 1) chain_frames_ += chain->frames.size();
        place.chain = chain;
        place.outside = outside;
        place.exact = chain->frames.size();
    } else if (!place.differs) {
        compare(place, *chain, outside);
    }
    place.in_recursion = place.in_recursion || in_recursion;
    place.looked_ns = now_ns;
    place.frames = chain->frames.size();
    if (std::exchange(place.drain, drain_) != drain_) ++place.looks;
    return place;
}

// Calls from several places of one function have one caller: it is shown without its line.
void DeepStacks::compare(Place& place, const Chain& chain, std::size_t outside) {
    const auto& known = place.chain->frames;
    const std::size_t most = std::min({place.exact, known.size(), chain.frames.size()});
    place.exact = 0;
    while (place.exact < most && known[place.exact].is_like(chain.frames[place.exact])) ++place.exact;
    const std::size_t common = std::min(place.outside, outside);
    if (place.outside != outside) place.in_recursion = true;
    std::shared_ptr<Chain> changed;
    for (std::size_t at = std::min(place.exact, common); at < common && !place.differs; ++at) {
        const std::uint64_t address = known[at].address;
        if (address == chain.frames[at].address) continue;
        place.differs = !same_function(address, chain.frames[at].address);
        if (place.differs || facts_.function_of(address) == address) continue;
        if (changed == nullptr) changed = std::make_shared<Chain>(*place.chain);
        changed->frames[at].address = facts_.function_of(address);
    }
    place.outside = common;
    const std::size_t called = common;
    place.stands = place.stands && called < known.size() && called < chain.frames.size() &&
                   known[called].cfa == chain.frames[called].cfa;
    if (changed == nullptr) return;
    changed->frames.resize(std::min(changed->frames.size(), common + 1));
    place.chain = std::move(changed);
}

void DeepStacks::see(const Chain& chain, std::size_t outside, std::uint64_t now_ns, bool by_look) {
    constexpr std::uint64_t clock_steps_ns = 5'000'000;  // of a clock that is read from outside
    const std::uint64_t cpu_ns = facts_.cpu_ns(chain.tid);
    for (std::size_t at = 0; at <= outside; ++at) {
        Seen& seen = seen_[chain.prefix_keys[at]];
        if (std::exchange(seen.drain, drain_) == drain_) continue;
        seen.before = std::exchange(seen.last, {now_ns, std::max(cpu_ns, seen.last.cpu_ns)});  // 0 once it has ended
        if (seen.before.ns == 0) seen.first_cpu_ns = cpu_ns;
        if (seen.last.cpu_ns != seen.before.cpu_ns) seen.ran_ns = now_ns;
        if (now_ns - seen.ran_ns <= clock_steps_ns) ++seen.count;
        if (by_look) ++seen.looks;
    }
}

DeepStacks::Seen& DeepStacks::seen(const Place& place) { return seen_[place.chain->prefix_keys[place.outside]]; }

bool DeepStacks::is_believed(const Place& place) {
    const Seen& seen = this->seen(place);
    return !place.differs && (seen.by_looks_only ? seen.looks : seen.count) >= enough_looks;
}

// The words where the return addresses of the frames outside stand tell who called last at this height of the stack,
// whether or not the thread is there now.
void DeepStacks::probe(Place& place, std::uint64_t now_ns) {
    constexpr std::size_t links = 8;
    if (std::exchange(place.probe_drain, drain_) == drain_ || place.drain == drain_ || !place.stands) return;
    const auto& frames = place.chain->frames;
    if (place.outside == 0 || place.outside >= frames.size()) return;
    for (std::size_t at = place.outside; at-- > 0 && place.outside - at <= links;) {
        const std::uint64_t word = facts_.word(frames[at + 1].cfa - sizeof(std::uint64_t));
        if (word == frames[at].address + 1) continue;
        const auto call = word == 0 ? CallCheck::Verdict::no : facts_.judge(word, frames[at + 1].address);
        if (call == CallCheck::Verdict::no) return;
        const bool same = same_function(word - 1, frames[at].address);
        const bool certain = call != CallCheck::Verdict::possible;
        if (same && certain) continue;
        // An indirect call may be another caller's, which words then never refute.
        place.differs = !same && certain;
        if (!same && !certain) seen(place).by_looks_only = true;
        return;
    }
    see(*place.chain, place.outside, now_ns, false);
}

void DeepStacks::add(DeepSample deep) {
    if (deep.frames.size() < 2) return emit_(deep, Callers::not_known);
    const Keys keys = keys_of(deep.sample.thread, deep.frames, deep.frames.size());
    waiting_frames_ += deep.frames.size();
    deep.taken_ns = std::max(deep.taken_ns, settled_ns_);  // handlers read a clock that stands still for a tick
    waiting_.push_back({std::move(deep), keys});
    for (const std::uint64_t now_ns = waiting_.back().deep.taken_ns;
         waiting_frames_ > most_waiting_frames && decide(waiting_.front(), now_ns, true);)
        waiting_.pop_front();
}

/// False: it is to wait on.
bool DeepStacks::decide(Waiting& waiting, std::uint64_t now_ns, bool at_end) {
    DeepSample& deep = waiting.deep;
    Place *const levels = place(waiting.keys.levels), *callers = place(waiting.keys.callers);
    if (callers == nullptr || callers->differs) callers = levels;
    if (callers != nullptr && !callers->differs) probe(*callers, now_ns);
    const bool known = callers != nullptr && !callers->differs;
    const bool believed = known && is_believed(*callers);
    const auto looked_since = [&](const Place& place) { return place.looked_ns > deep.taken_ns; };
    waiting.seen_about = waiting.seen_about || (known && is_about(seen(*callers), deep.taken_ns));
    if (!at_end && now_ns < deep.taken_ns + patience_ns && !(believed && looked_since(*callers)) &&
        (known || levels == nullptr))
        return false;
    waiting_frames_ -= deep.frames.size();
    const bool exactly = known && levels != nullptr && looked_since(*levels) && levels->looks >= enough_exact_looks;
    if (known) continue_by(*callers, deep, exactly ? levels : nullptr);
    emit_(deep, !known ? Callers::not_known : believed && waiting.seen_about ? Callers::known : Callers::read_later);
    return true;
}

bool DeepStacks::is_about(const Seen& seen, std::uint64_t taken_ns) {
    const std::uint64_t longest_ns = longest_gap_ns(seen);
    const bool is_after = seen.last.ns >= taken_ns;
    const Seen::Time& earlier = is_after ? seen.before : seen.last;
    if (is_after && seen.last.ns - taken_ns <= longest_ns) return true;
    if (earlier.ns == 0 || earlier.ns > taken_ns) return false;
    return taken_ns - earlier.ns <= longest_ns || (is_after && seen.last.cpu_ns - earlier.cpu_ns <= longest_ns);
}

void DeepStacks::settle(std::uint64_t now_ns, bool at_end) {
    in_haste_ = !waiting_.empty();
    std::erase_if(waiting_, [&](Waiting& waiting) { return decide(waiting, now_ns, at_end); });
    ++drain_;
    tried_.clear();
    settled_ns_ = now_ns;
}

// What is forgotten has to be shown again.
void DeepStacks::make_room() {
    if (chain_frames_ < most_chain_frames && places_.size() < most_places && seen_.size() < most_seen) return;
    places_.clear();
    seen_.clear();
    chain_frames_ = 0;
}

std::size_t DeepStacks::memory() const {
    constexpr std::size_t node = 48;  // of a hash table, its bucket included
    std::size_t bytes = places_.size() * (sizeof(Place) + node) + seen_.size() * (sizeof(Seen) + node) +
                        chain_frames_ * sizeof(CodeFrame) + waiting_frames_ * sizeof(CodeFrame);
    for (const Waiting& each : waiting_)
        bytes += sizeof each + each.deep.kernel_chain.capacity() * sizeof(std::uint64_t) +
                 each.deep.labels.capacity() * sizeof(StackLabel);
    return bytes;
}

}  // namespace flameprobe
