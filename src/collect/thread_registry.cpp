#include "collect/thread_registry.hpp"

#include <algorithm>

#include "base/paths.hpp"

namespace flameprobe {
namespace {

constexpr std::size_t in_turn = 16;  // each costs some 10 us, where the collector is a task
// Of a thread that is renamed for each piece of work: what comes later stays under the last of these names.
constexpr std::uint32_t most_names = 1000;
// With an entry of their own; and names of those that share one. So every table by ThreadId has an end.
constexpr std::size_t most_entries = 16384, most_shared = 1024;
constexpr const char* others = "[other threads]";
constexpr std::uint64_t end_is_recent_ns = 2'000'000'000;

std::string comm_of(const std::string& path) {
    constexpr std::size_t most = 15;  // prctl(2), PR_SET_NAME
    return std::string(base_name(path).substr(0, most));
}

}  // namespace

ThreadId ThreadRegistry::add(std::uint32_t tid, std::string_view name) {
    const auto id = static_cast<ThreadId>(threads_.size());
    threads_.push_back({.thread = {tid, std::string(name)}, .shown = id});
    sink_.thread(id, threads_.back().thread);
    return id;
}

/// Tid 0 is of a thread without an entry of its own.
ThreadId ThreadRegistry::add_or_share(std::uint32_t tid, std::string_view name) {
    if (threads_.size() - unsampled_.size() < most_entries) return add(tid, name);
    ++without_entry_;
    return unsampled(name);
}

// The name of a thread that has ended cannot be read: it gets the main thread's, which the kernel gives to every new
// thread; and to that one the file's.
std::string ThreadRegistry::name_or_usual(std::string name) const {
    if (name.empty()) name = threads_.empty() ? comm_of(executed_path()) : threads_.front().thread.name;
    return name.empty() ? "[thread]" : name;
}

std::string ThreadRegistry::name_of(std::uint32_t tid) const {
    const auto known = living_.find(tid);
    return known == living_.end() || known->second.name.empty() ? thread_comm(tid) : known->second.name;
}

void ThreadRegistry::identify(std::uint32_t tid, Living& living) {
    std::string name = account_name(tid);
    living.id = add_or_share(tid, name);
    living.name = std::move(name);
    set_cpu(living);
}

// What a thread used that shares its entry is added to that at its end.
void ThreadRegistry::set_cpu(const Living& living) {
    if (is_shared(living.id)) return;
    threads_[living.id].cpu_ns = living.clock_ns - std::min(living.clock_ns, living.base_ns);
}

/// A thread that is sampled on its way out, after its end was reported, has that CPU time in its account already.
ThreadRegistry::Living& ThreadRegistry::living_of(std::uint32_t tid) {
    const auto [known, is_new] = living_.try_emplace(tid);
    if (const auto end = ended_.find(tid); is_new && end != ended_.end())
        known->second.base_ns = known->second.clock_ns = end->second.clock_ns;
    return known->second;
}

void ThreadRegistry::forget_old_ends() {
    const std::uint64_t now = clocks_.time_ns();
    std::erase_if(ended_, [now](const auto& end) { return now >= end.second.time_ns + end_is_recent_ns; });
}

ThreadId ThreadRegistry::find(std::uint32_t tid) {
    Living& living = living_of(tid);
    living.ran = true;
    if (living.id == none) identify(tid, living);
    return living.id;
}

ThreadId ThreadRegistry::find_late(std::uint32_t tid) {
    const auto ended = ended_.find(tid);
    if (ended == ended_.end() || living_.contains(tid)) return find(tid);
    ThreadId& entry = ended->second.entry;
    if (entry == none) entry = add_or_share(tid, name_or_usual(ended->second.name));
    return entry;
}

std::optional<ThreadId> ThreadRegistry::known(std::uint32_t tid) const {
    const auto found = living_.find(tid);
    return found == living_.end() || found->second.id == none ? std::nullopt : std::optional(found->second.id);
}

// A tid that starts again is another thread, even if the record of the first one's end was lost. But the timer engine
// also reports threads that ran before as started: their clocks go on.
void ThreadRegistry::started(std::uint32_t tid, std::uint32_t parent) {
    const auto known = living_.find(tid);
    if (known != living_.end()) {
        if (known->second.id == none && clocks_.thread_ns(tid) >= known->second.clock_ns) return;
        ended(tid);
    }
    ended_.erase(tid);
    const auto maker = living_.find(parent);
    std::string name = maker == living_.end() ? std::string() : maker->second.name;
    living_[tid] = {.name = std::move(name)};
}

void ThreadRegistry::renamed(std::uint32_t tid, std::string_view name) {
    const auto known = living_.find(tid);
    if (known == living_.end() || name.empty()) return;
    known->second.name = name;
    const ThreadId id = known->second.id;
    if (id == none || is_shared(id) || threads_[threads_[id].shown].thread.name == name) return;
    threads_[id].shown = entry_of_name(id, name);
}

ThreadId ThreadRegistry::entry_of_name(ThreadId id, std::string_view name) {
    if (threads_[id].thread.name == name) return id;
    const auto [known, is_new] = later_names_.try_emplace({id, std::string(name)}, none);
    if (!is_new) return known->second;
    if (threads_[id].later_names == most_names || threads_.size() >= most_entries) {
        later_names_.erase(known);
        return threads_[id].shown;
    }
    ++threads_[id].later_names;
    known->second = add(threads_[id].thread.tid, name);
    threads_[known->second].is_name_only = true;
    return known->second;
}

/// Whether the thread with that number, or that later name, has not ended.
bool ThreadRegistry::lives(ThreadId thread) const {
    const auto living = living_.find(threads_[thread].thread.tid);
    if (living == living_.end() || living->second.id == none) return false;
    const auto later = later_names_.find({living->second.id, threads_[thread].thread.name});
    return living->second.id == thread || (later != later_names_.end() && later->second == thread);
}

ThreadId ThreadRegistry::same_thread(const ThreadRegistry& before, ThreadId thread) {
    const auto& [tid, name] = before.threads_[thread].thread;
    if (before.lives(thread) && living_.contains(tid)) return entry_of_name(find(tid), name);
    const ThreadId id = add_or_share(tid, name);
    if (!is_shared(id)) threads_[id].is_name_only = true;
    return id;
}

void ThreadRegistry::ended(std::uint32_t tid) {
    const auto known = living_.find(tid);
    if (known == living_.end()) return;
    if (own_entry(known->second) != none) threads_[known->second.id].ended_without_report = true;
    ended_[tid] = {own_entry(known->second), known->second.base_ns, known->second.clock_ns,
                   clocks_.time_ns(),        known->second.id,      std::move(known->second.name)};
    living_.erase(known);
}

std::optional<ThreadId> ThreadRegistry::end_reported(std::uint32_t tid, std::uint64_t& cpu_ns) {
    Ended& ended = ended_[tid];
    if (const auto living = living_.extract(tid); !living.empty())
        ended = {own_entry(living.mapped()), living.mapped().base_ns, 0, 0, living.mapped().id, living.mapped().name};
    const ThreadId id = std::exchange(ended.id, none);
    ended.clock_ns = cpu_ns;
    ended.time_ns = clocks_.time_ns();
    cpu_ns -= std::min(cpu_ns, ended.base_ns);
    if (id == none) return std::nullopt;
    threads_[id].cpu_ns = cpu_ns;
    threads_[id].ended_without_report = false;
    return id;
}

ThreadId ThreadRegistry::unsampled(std::string_view name) {
    const auto known = unsampled_.find(name);
    if (known != unsampled_.end()) return known->second;
    if (unsampled_.size() >= most_shared && name != others) return unsampled(others);
    return unsampled_.emplace(name, add(0, name)).first->second;
}

std::vector<ThreadRegistry::Running> ThreadRegistry::running() const {
    std::vector<Running> found;
    for (const auto& [tid, living] : living_) {
        if (living.clock_ns <= living.base_ns) continue;
        const std::uint64_t used = living.clock_ns - living.base_ns;
        const std::uint64_t told = own_entry(living) == none ? 0 : accounted(living.id);
        const bool is_main = !threads_.empty() && threads_.front().thread.tid == tid;
        found.push_back({tid, used, used - std::min(used, told), own_entry(living) != none, is_main});
    }
    return found;
}

void ThreadRegistry::read(std::uint32_t tid, Living& living) {
    const std::uint64_t clock = clocks_.thread_ns(tid);
    if (clock == 0) {  // it has ended, and its clock with it
        if (own_entry(living) != none) threads_[living.id].ended_without_report = true;
        return;
    }
    living.ran = false;
    living.clock_ns = clock;
    if (living.id != none) set_cpu(living);
}

void ThreadRegistry::read_clocks() {
    forget_old_ends();
    for (auto& [tid, living] : living_) {
        if (living.ran) read(tid, living);
    }
    if (to_visit_.empty()) {
        for (const auto& [tid, living] : living_) to_visit_.push_back(tid);
    }
    for (std::size_t left = std::min(in_turn, to_visit_.size()); left > 0; --left, to_visit_.pop_back()) {
        const auto found = living_.find(to_visit_.back());
        if (found != living_.end()) read(found->first, found->second);
    }
}

void ThreadRegistry::read_all_clocks() {
    for (const std::uint32_t tid : clocks_.threads())
        if (!ended_.contains(tid)) living_.try_emplace(tid);
    for (auto& [tid, living] : living_) read(tid, living);
}

void ThreadRegistry::resume() {
    for (const std::uint32_t tid : clocks_.threads()) {
        if (ended_.contains(tid)) continue;
        Living& living = living_[tid];
        const std::uint64_t already = own_entry(living) == none ? 0 : threads_[living.id].cpu_ns;
        living.clock_ns = clocks_.thread_ns(tid);
        living.base_ns = living.clock_ns - std::min(living.clock_ns, already);
    }
}

void ThreadRegistry::resume_from(const Readings& readings) {
    for (const auto& [tid, clock_ns] : readings) {
        Living& living = living_[tid];
        living.base_ns = living.clock_ns = clock_ns;
    }
}

ThreadRegistry::Readings ThreadRegistry::readings() const {
    Readings readings;
    for (const auto& [tid, living] : living_) readings[tid] = living.clock_ns;
    return readings;
}

std::uint64_t ThreadRegistry::cpu_ns() const {
    std::uint64_t sum = 0;
    for (const Known& known : threads_) sum += known.cpu_ns;  // a brief thread's samples prove nothing of one
    return sum;
}

std::vector<ThreadAccount> ThreadRegistry::accounts() const {
    std::vector<ThreadAccount> accounts;
    accounts.reserve(threads_.size());
    for (ThreadId id = 0; id < threads_.size(); ++id) {
        const Known& known = threads_[id];
        if (known.is_name_only) continue;
        // A sample proves that its CPU time was used.
        const std::uint64_t proven = known.ended_without_report ? known.sampled : 0;
        accounts.push_back({id, std::max(known.cpu_ns, proven), known.sampled});
    }
    return accounts;
}

// A name is too short to have memory of its own (comm: 15 characters). The accounts are there twice, since the summary
// has them too. A node of libstdc++'s hash tables: the value, the next one's address and malloc's own words.
std::size_t ThreadRegistry::memory() const {
    constexpr std::size_t node = sizeof(std::pair<std::uint32_t, Living>) + 3 * sizeof(void*);
    return threads_.capacity() * sizeof(Known) + threads_.size() * sizeof(ThreadAccount) +
           (living_.size() + ended_.size() + unsampled_.size()) * node + living_.bucket_count() * sizeof(void*) +
           to_visit_.capacity() * sizeof(to_visit_[0]);
}

}  // namespace flameprobe
