#include "capture/thread_finder.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "capture/perf_event.hpp"

namespace flameprobe {
namespace {

// Beside the main one; more are brief ones at first, see ThreadClock. Those that ran before may be idle ones of a pool.
constexpr std::size_t few_threads = 8;
// Looking for threads takes no more than a hundredth of a CPU.
constexpr std::uint64_t part_of_a_cpu = 100;

}  // namespace

bool ThreadFinder::is_one_of_many() { return ++met_threads_ > few_threads; }

std::uint64_t ThreadFinder::stood_for_ns() const {
    return share_.reach_us != 0 ? share_.reach_ns() : rings_.lives_on_ns();
}

// What is left of a life is sampled as a life of its own.
void ThreadFinder::open_outlived() {
    constexpr std::uint64_t look_every_ns = 4 * ns_per_ms;
    const std::uint64_t now = monotonic_ns();
    if (stood_for_.empty() || now < next_look_ns_) return;
    next_look_ns_ = now + std::max(look_every_ns, stood_for_.size() * thread_cpu_cost_ns * part_of_a_cpu);
    std::erase_if(stood_for_, [this](const auto& thread) {
        if (host_thread_cpu_ns(thread.first) < thread.second) return false;
        open({thread.first}, thread.second < rings_.lives_on_ns());
        return true;
    });
}

bool ThreadFinder::is_new(std::uint32_t tid) const {
    return !rings_.inherits() && !rings_.knows(tid) && !not_opened_.contains(tid);
}

void ThreadFinder::meet(std::uint32_t tid) {
    knows_all_mappings_ = false;
    if (!share_.all()) stood_for_.try_emplace(tid, stood_for_ns());
}

// Whether there are threads to be found in the list.
bool ThreadFinder::meet_born() {
    bool any = false;
    for (const std::uint32_t tid : std::exchange(born_, {})) {
        if (!is_new(tid)) continue;
        meet(tid);
        any = share_.all();
    }
    return any;
}

void ThreadFinder::find(bool surely) {
    constexpr std::uint64_t list_ns = 500;  // for each thread
    open_outlived();
    surely = meet_born() || surely;
    const std::size_t count = tasks_.count();
    const std::uint64_t now = monotonic_ns();
    if (!surely && (count == listed_ || now < next_list_ns_)) return;
    next_list_ns_ = now + count * list_ns * part_of_a_cpu;
    listed_ = count;
    // To list them the kernel makes an entry of each in its cache, the collector's too.
    const auto running = only_main() ? std::vector{main_} : list_other_threads();
    if (running.empty() || are_of_another_program()) return;
    for (const std::uint32_t tid : running) {
        if (!is_new(tid) || tid == main_) continue;
        meet(tid);
        const bool brief = is_one_of_many();
        if (!stood_for_.contains(tid)) open({tid}, brief);
    }
    const auto runs = [&](std::uint32_t tid) { return std::binary_search(running.begin(), running.end(), tid); };
    std::erase_if(not_opened_, [&](std::uint32_t tid) {
        if (!runs(tid)) gone_.push_back(tid);
        return !runs(tid);
    });
    std::erase_if(stood_for_, [&](const auto& thread) {
        if (!runs(thread.first) && !rings_.knows(thread.first)) gone_.push_back(thread.first);
        return !runs(thread.first);
    });
    for (const auto& thread : rings_) {
        if (thread->ended || thread->inherited || runs(thread->tid)) continue;
        gone_.push_back(thread->tid);
        rings_.forget(*thread);
    }
}

void ThreadFinder::find_all_anew() {
    not_opened_.clear();
    found_.clear();
    refusal_.clear();
    met_threads_ = 0;
    find(true);
}

// Exec ends the main thread's event, as its own end does: after exec, the threads that were listed are the next
// program's.
bool ThreadFinder::are_of_another_program() const {
    const ThreadEvents* const main_thread = rings_.find(main_);
    return (main_thread == nullptr || has_hung_up(main_thread->own.event)) && host_has_other_image();
}

// A main thread that has ended has threads that no drain has found yet. Those of another program are not sampled.
bool ThreadFinder::all_ended() {
    if (!rings_.ended()) return false;
    find(true);
    return rings_.ended();
}

std::string ThreadFinder::name_at_birth(std::uint32_t tid) {
    const auto found = found_.find(tid);
    if (found == found_.end() || found->second.empty()) return {};
    return std::move(found_.extract(found).mapped());
}

void ThreadFinder::ended(ThreadEvents& thread) {
    std::erase(gone_, thread.tid);
    rings_.forget(thread);
}

void ThreadFinder::open(const NewThread& thread, bool brief) {
    const auto opened = rings_.add(thread.tid, brief, thread.share);
    if (opened.outcome == ThreadRings::Outcome::gone) return;
    if (opened.outcome == ThreadRings::Outcome::opened) {
        found_[thread.tid] = thread.name;
        return;
    }
    not_opened_.insert(thread.tid);
    const std::size_t threads = not_opened_.size();
    refusal_ =
        std::to_string(threads) + (threads == 1 ? " thread is" : " threads are") + " not sampled (" + opened.why + ")";
}

void ThreadFinder::begins(const NewThread& thread) {
    if (rings_.inherits()) return;
    // A drain may have found it while it waited; or another thread had its id.
    if (const ThreadEvents* const known = rings_.find(thread.tid); known != nullptr && !has_hung_up(known->own.event))
        return;
    const bool brief = is_one_of_many();
    share_ = rings_.lives_on_ns() == 0 ? NewThreadShare{} : thread.share;
    stood_for_.erase(thread.tid);
    not_opened_.erase(thread.tid);
    open({thread.tid, brief ? share_ : NewThreadShare{}, thread.name}, brief);
    if (brief && share_.reach_us != 0) stood_for_[thread.tid] = stood_for_ns();
}

}  // namespace flameprobe
