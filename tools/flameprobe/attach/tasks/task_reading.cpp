// Reading tasks while they may be polled: what is shown was so at one moment.
#include <algorithm>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "task_looks.hpp"

namespace flameprobe::async {
namespace {

// Of a CPU, for looks.
constexpr double most_share = 0.01;
constexpr int most_readings = 5;

std::uint64_t own_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t hash_of(std::span<const std::byte> bytes) {
    return hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// What is read of a task: up to its links, which come after its future.
std::size_t size_of(const TaskTable& table, std::uint32_t links) { return table.trailer + links + sizeof(TaskLinks); }

/// The hash of memory outside of the task's; 0 where it cannot be read.
std::uint64_t hash_of(const std::vector<Place>& outside) {
    std::vector<std::byte> bytes;
    return read_places(outside, bytes) == outside.size() ? hash_of(bytes) : 0;
}

}  // namespace

std::size_t TaskLooks::how_many() const {
    constexpr double least = 16;
    const double budget = static_cast<double>(pause_ns_) * most_share;
    return std::min(tasks_.size(), static_cast<std::size_t>(std::max(least, budget / cost_ns_)));
}

TaskLooks::Seen TaskLooks::judge(const Known& task, const std::byte* bytes) const {
    const std::uint64_t state = word_at(bytes, 0);
    const auto previous = word_at(bytes, task.table->trailer + task.links);
    const bool first = previous == 0 && std::ranges::find(heads_, task.address) == heads_.end();
    const bool other =
        tables_->find(word_at(bytes, 2 * word)) != task.table || word_at(bytes, task.table->id) != task.id;
    if (other || (state & TaskHeader::complete) != 0 || first) return {};
    return {true, (state & TaskHeader::running) != 0, (state & TaskHeader::notified) != 0};
}

// Of more tasks than may be read, some in turn: each stands for the time since it was read last.
void TaskLooks::read_some(std::uint64_t now_ns) {
    const std::uint64_t began = own_cpu_ns();
    const std::size_t wanted = how_many();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < wanted; ++i) order.push_back((cursor_ + i) % tasks_.size());
    cursor_ = tasks_.empty() ? 0 : (cursor_ + wanted) % tasks_.size();
    std::vector<Place> places;
    for (const std::size_t at : order)
        places.push_back({tasks_[at].address, size_of(*tasks_[at].table, tasks_[at].links)});
    std::vector<std::byte> bytes, again;
    std::vector<std::size_t> gone;
    std::size_t from = 0;
    while (from < order.size()) {
        const std::size_t got = read_places(std::span(places).subspan(from), bytes);
        std::size_t offset = 0;
        for (std::size_t i = from; i < from + got; ++i) {
            Known& task = tasks_[order[i]];
            const std::byte* const own = bytes.data() + offset;
            offset += places[i].size;
            const Seen seen = judge(task, own);
            ++reads_;
            if (!seen.lives) {
                gone.push_back(order[i]);
                continue;
            }
            if (seen.runs) {
                task.hash = 0;
                only(task, chains_->words("[on a worker]"));
            } else if (!is_same(task, hash_of({own, places[i].size})) && !read_chain(task, again)) {
                gone.push_back(order[i]);
                continue;
            }
            count(task, now_ns - std::min(now_ns, task.seen_ns));
            task.seen_ns = now_ns;
        }
        if (from + got < order.size()) gone.push_back(order[from + got]);  // not mapped any more
        from += got + 1;
    }
    std::ranges::sort(gone, std::greater());
    for (const std::size_t at : gone) forget(at);
    if (wanted != 0) {
        const double cost = static_cast<double>(own_cpu_ns() - began) / static_cast<double>(wanted);
        constexpr double weight = 0.1;
        cost_ns_ += weight * (cost - cost_ns_);
    }
}

/// Whether the task's memory, and what its chain was read from outside of it, is as it was: then its chain is too.
bool TaskLooks::is_same(Known& task, std::uint64_t hash) {
    if (task.shares.empty() || task.hash == 0 || task.hash != hash) return false;
    return task.outside.empty() || hash_of(task.outside) == task.outside_hash;
}

// It may be polled meanwhile. What two readings have alike was so between them; a chain that leads out of the task's
// memory is read twice, whole. False: it has ended.
bool TaskLooks::read_chain(Known& task, std::vector<std::byte>& bytes) {
    ++decoded_;
    const std::size_t size = size_of(*task.table, task.links);
    std::vector<std::byte> second(size);
    bytes.resize(size);
    for (int reading = 0; reading < most_readings; ++reading) {
        if (reading != 0) ++torn_;
        if (!read_whole(task.address, bytes.data(), size)) return false;
        const Seen seen = judge(task, bytes.data());
        if (!seen.lives) return false;
        if (seen.runs) {
            task.hash = 0;
            only(task, chains_->words("[on a worker]"));
            return true;
        }
        const auto cell = std::span<const std::byte>(bytes).first(task.table->trailer);
        const ChainNode chain = chains_->read(task.address, *task.table, cell);
        const bool doubtful = chains_->doubtful();
        task.outside = chains_->outside();
        task.outside_hash = task.outside.empty() ? 0 : hash_of(task.outside);
        if (!read_whole(task.address, second.data(), size)) return false;
        if (bytes != second || doubtful) continue;
        if (!task.outside.empty()) {
            const ChainNode once_more = chains_->read(task.address, *task.table, cell);
            if (once_more != chain || hash_of(task.outside) != task.outside_hash) continue;
        }
        task.hash = hash_of(bytes);
        take_chain(task, chain, seen.woken);
        return true;
    }
    ++unknown_;
    task.hash = 0;
    only(task, chains_->words("[not known]"));
    return true;
}

}  // namespace flameprobe::async
