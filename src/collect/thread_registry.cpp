#include "collect/thread_registry.hpp"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"

namespace flameprobe {

ThreadId ThreadRegistry::add(std::uint32_t tid, std::string_view name) {
    const auto id = static_cast<ThreadId>(threads_.size());
    threads_.push_back({tid, std::string(name)});
    accounts_.push_back({.thread = id});
    sink_.thread(id, threads_.back());
    return id;
}

ThreadId ThreadRegistry::find(std::uint32_t tid) {
    const auto known = living_.find(tid);
    if (known != living_.end()) return known->second;
    auto name = thread_comm(tid);
    // A thread that has ended by now shares the name of the main thread, as the kernel gives it to every new thread.
    if (name.empty()) name = threads_.empty() ? ::program_invocation_short_name : threads_.front().name;
    const ThreadId id = add(tid, name.empty() ? std::string_view("[thread]") : std::string_view(name));
    living_[tid] = id;
    return id;
}

ThreadId ThreadRegistry::unknown() {
    if (unknown_ == none) unknown_ = add(0, "[thread not known]");
    return unknown_;
}

void ThreadRegistry::renamed(std::uint32_t tid, std::string_view name) {
    const auto known = living_.find(tid);
    if (known == living_.end() || threads_[known->second].name == name) return;  // unsampled: asked for when it is
    threads_[known->second].name = name;
    sink_.thread(known->second, threads_[known->second]);
}

void ThreadRegistry::ended(std::uint32_t tid) {
    living_.erase(tid);
    bases_.erase(tid);
}

void ThreadRegistry::read_clocks() {
    for (const auto& [tid, id] : living_) {
        const std::uint64_t now = host_thread_cpu_ns(tid);
        if (now == 0) continue;
        const auto base = bases_.find(tid);
        accounts_[id].cpu_ns = now - (base == bases_.end() ? 0 : base->second);
    }
}

void ThreadRegistry::reset_clocks() {
    bases_.clear();
    const auto self = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    for (const std::uint32_t tid : list_threads()) {
        if (tid == self) continue;
        std::uint64_t already = 0;
        if (const auto known = living_.find(tid); known != living_.end()) already = accounts_[known->second].cpu_ns;
        bases_[tid] = host_thread_cpu_ns(tid) - already;
    }
}

// A name is too short to have memory of its own (comm: 15 characters). The accounts are there twice, since the summary
// has them too. A node of libstdc++'s hash tables: the value, the next one's address and malloc's own words.
std::size_t ThreadRegistry::memory() const {
    constexpr std::size_t node = sizeof(std::pair<std::uint32_t, std::uint64_t>) + 3 * sizeof(void*);
    return threads_.capacity() * sizeof(Thread) + 2 * accounts_.capacity() * sizeof(ThreadAccount) +
           (living_.size() + bases_.size()) * node + (living_.bucket_count() + bases_.bucket_count()) * sizeof(void*);
}

}  // namespace flameprobe
