// Reading tasks while they may be polled: what is shown was so at one moment.
#include <algorithm>
#include <bit>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "task_looks.hpp"

namespace flameprobe::async {
namespace {

// Of a CPU, for looks.
constexpr double most_share = 0.02;
constexpr int most_readings = 5;

std::uint64_t hash_of(std::span<const std::byte> bytes) {
    return hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Which of `turns` a task has.
std::size_t turn_number(std::uint64_t address, std::size_t turns) {
    constexpr unsigned near = 14;
    return splitmix64(address >> near) & (turns - 1);
}

/// Of what its chain is read from: whether it runs or was woken, and its future. Not of its count of references nor of
/// its links, which change by what others do.
std::uint64_t hash_of(const TaskTable& table, std::span<const std::byte> copy) {
    const std::uint64_t used = word_at(copy.data(), table.state_at) & (table.running | table.ended | table.woken);
    return mix(hash_of(copy.subspan(table.scheduler, table.trailer - table.scheduler)), used);
}

/// The hash of memory outside of the task's; 0 where it cannot be read.
std::uint64_t hash_of(const std::vector<Place>& outside) {
    std::vector<std::byte> bytes;
    return read_places(outside, bytes) == outside.size() ? hash_of(bytes) : 0;
}

}  // namespace

std::size_t TaskLooks::how_many() const {
    constexpr double least = 16;
    const double budget = static_cast<double>(pause_ns_) * most_share;
    return static_cast<std::size_t>(std::max(least, budget / cost_ns_));
}

TaskLooks::Seen TaskLooks::judge(const Known& task, const std::byte* bytes) const {
    const TaskTable& table = *task.table;
    if (tables_->of(bytes) != &table || word_at(bytes, table.id) != task.id) return {};
    const std::uint64_t state = word_at(bytes, table.state_at);
    const bool first = !table.of_smol && word_at(bytes, table.trailer + task.links) == 0;
    if ((state & table.ended) != 0 || (first && std::ranges::find(heads_, task.address) == heads_.end())) return {};
    return {true, (state & table.running) != 0, (state & table.woken) != 0};
}

// Of more tasks than may be read at a look, each has a turn: the same for those that are near in memory, which are read
// as one piece, ten times as fast as each by itself.
TaskLooks::Turn& TaskLooks::turn_of(std::uint64_t address) { return turns_[turn_number(address, turns_.size())]; }

void TaskLooks::set_turns() {
    const std::size_t wanted = std::bit_ceil(1 + tasks_.size() / how_many());
    if (wanted <= turns_.size() && 4 * wanted > turns_.size()) return;
    turns_.assign(wanted, {});
    for (const auto& [address, task] : tasks_) {
        turn_of(address).tasks.push_back(task.get());
        turn_of(address).sorted = false;
    }
}

void TaskLooks::add(const ListedTask& task, std::uint64_t id, std::uint64_t since_ns) {
    auto& known = tasks_[task.address];
    if (!known) {
        known = std::make_unique<Known>();
        turn_of(task.address).tasks.push_back(known.get());
        turn_of(task.address).sorted = false;
    }
    *known = {.table = task.table, .address = task.address, .id = id, .links = task.links};
    // A reading stands for the time from turn to turn: also of a task that lives for less, which is met the more
    // rarely.
    const std::size_t own = turn_number(task.address, turns_.size());
    const std::size_t passed = turns_.size() - (own + turns_.size() - turn_) % turns_.size();
    known->seen_ns = turns_.size() == 1
                         ? since_ns
                         : std::clamp(last_ns_ - std::min(last_ns_, passed * pause_ns_), begun_ns_, since_ns);
    most_tasks_ = std::max<std::uint64_t>(most_tasks_, tasks_.size());
}

void TaskLooks::read_some(std::uint64_t now_ns) {
    const std::uint64_t began = own_cpu_ns();
    Turn& turn = turns_[turn_];
    const std::size_t number = turn.tasks.size();
    read(turn, now_ns);
    if (number != 0) {
        const double cost = static_cast<double>(own_cpu_ns() - began) / static_cast<double>(number);
        constexpr double weight = 0.1;
        cost_ns_ += weight * (cost - cost_ns_);
    }
    set_turns();
    turn_ = (turn_ + 1) % turns_.size();
}

void TaskLooks::read(Turn& turn, std::uint64_t now_ns) {
    if (!turn.sorted) std::ranges::sort(turn.tasks, {}, &Known::address);
    turn.sorted = true;
    std::vector<Known*> changed;
    read_tasks(turn.tasks, [&](Known& task, std::span<const std::byte> copy) {
        const Seen seen = judge(task, copy.data());
        ++reads_;
        if (!seen.lives) {
            task.gone = true;
        } else if (!seen.runs && !is_same(task, hash_of(*task.table, copy))) {
            task.hash = hash_of(*task.table, copy);
            changed.push_back(&task);
        } else {
            if (seen.runs) take_running(task);
            count_until(task, now_ns);
        }
    });
    read_tasks(changed, [&](Known& task, std::span<const std::byte> copy) {
        task.gone = !take_changed(task, copy);
        if (!task.gone) count_until(task, now_ns);
    });
    std::erase_if(turn.tasks, [&](const Known* task) { return task->gone && tasks_.erase(task->address) != 0; });
}

/// Copies each task's memory and gives it to `take`. What is not mapped any more is gone.
template <typename Take>
void TaskLooks::read_tasks(std::span<Known* const> which, Take&& take) {
    std::vector<Place> places;
    for (const Known* const task : which) places.push_back({task->address, size_of(*task->table, task->links)});
    std::vector<std::byte> bytes;
    for (std::size_t from = 0; from < which.size();) {
        const std::size_t got = read_places(std::span(places).subspan(from), bytes);
        std::size_t offset = 0;
        for (std::size_t i = from; i < from + got; offset += places[i++].size)
            take(*which[i], std::span<const std::byte>(bytes).subspan(offset, places[i].size));
        if (from + got < which.size()) which[from + got]->gone = true;
        from += got + 1;
    }
}

/// False: the process has ended.
bool TaskLooks::can_read() const {
    return has_runtimes() &&
           read_word(lists_.empty() ? slabs_.front().place.entries_at : lists_.front().at).has_value();
}

void TaskLooks::count_until(Known& task, std::uint64_t now_ns) {
    count(task, now_ns - std::min(now_ns, task.seen_ns));
    task.seen_ns = now_ns;
}

void TaskLooks::take_running(Known& task) {
    task.hash = 0;
    only(task, chains_->words("[on a worker]"));
}

/// A second copy of a task whose first had the hash `task.hash`. What two readings have alike was so between them.
/// False: it has ended.
bool TaskLooks::take_changed(Known& task, std::span<const std::byte> copy) {
    const Seen seen = judge(task, copy.data());
    if (!seen.lives) return false;
    if (seen.runs || hash_of(*task.table, copy) != task.hash) {
        ++torn_;
        return read_chain(task);
    }
    std::vector<Shape>& shapes = shapes_[task.table];
    const auto fits = [&](const Shape& shape) {
        return shape.woken == seen.woken && std::ranges::all_of(shape.values, [&](const ReadValue& read) {
                   return number_in(copy, read.offset, read.size) == read.value;
               });
    };
    auto shape = std::ranges::find_if(shapes, fits);
    if (shape == shapes.end()) {
        const ChainNode chain = chains_->read(task.address, *task.table, copy.first(task.table->trailer));
        if (chains_->doubtful() || !chains_->outside().empty()) return read_chain(task);
        take_chain(task, chain, seen.woken);
        ++decoded_;
        constexpr std::size_t most_shapes = 32;
        if (shapes.size() == most_shapes) shapes.pop_back();
        shape = shapes.insert(shapes.begin(), {seen.woken, chains_->inside(), task.shares});
    }
    task.shares = shape->shares;
    task.outside.clear();
    return true;
}

/// Whether the task's memory, and what its chain was read from outside of it, is as it was: then its chain is too.
bool TaskLooks::is_same(Known& task, std::uint64_t hash) {
    if (task.shares.empty() || task.hash == 0 || task.hash != hash) return false;
    return task.outside.empty() || hash_of(task.outside) == task.outside_hash;
}

// It may be polled meanwhile. What two readings have alike was so between them; a chain that leads out of the task's
// memory is read twice, whole. False: it has ended.
bool TaskLooks::read_chain(Known& task) {
    ++decoded_;
    const std::size_t size = size_of(*task.table, task.links);
    std::vector<std::byte> bytes(size), second(size);
    for (int reading = 0; reading < most_readings; ++reading) {
        if (reading != 0) ++torn_;
        if (!read_whole(task.address, bytes.data(), size)) return false;
        const Seen seen = judge(task, bytes.data());
        if (!seen.lives) return false;
        if (seen.runs) return take_running(task), true;
        const auto cell = std::span<const std::byte>(bytes).first(task.table->trailer);
        const ChainNode chain = chains_->read(task.address, *task.table, cell);
        const bool doubtful = chains_->doubtful();
        task.outside = chains_->outside();
        task.outside_hash = task.outside.empty() ? 0 : hash_of(task.outside);
        if (!read_whole(task.address, second.data(), size)) return false;
        const std::uint64_t hash = hash_of(*task.table, bytes);
        if (hash != hash_of(*task.table, second) || doubtful) continue;
        if (!task.outside.empty()) {
            const ChainNode once_more = chains_->read(task.address, *task.table, cell);
            if (once_more != chain || hash_of(task.outside) != task.outside_hash) continue;
        }
        task.hash = hash;
        take_chain(task, chain, seen.woken);
        return true;
    }
    ++unknown_;
    task.hash = 0;
    only(task, chains_->words("[not known]"));
    return true;
}

}  // namespace flameprobe::async
