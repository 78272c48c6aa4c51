#include "runtimes.hpp"

#include <bit>
#include <cstdlib>
#include <set>

#include "base/proc.hpp"

namespace flameprobe::async {
namespace {

constexpr std::size_t words_of_list = list_bytes / word;
constexpr std::uint64_t most_handle = 0x600;

/// Where the thread's stack is in use, by its stack pointer (proc(5), /proc/PID/syscall); 0 while it runs.
std::uint64_t stack_pointer_of(std::uint32_t tid) {
    const auto text =
        read_small_file((host_proc_directory() + "/task/" + std::to_string(tid) + "/syscall").c_str()).value_or("");
    const std::size_t last = text.rfind(' ');
    const std::size_t before = last == text.npos || last == 0 ? text.npos : text.rfind(' ', last - 1);
    return before == text.npos ? 0 : std::strtoull(text.c_str() + before + 1, nullptr, 16);
}

}  // namespace

Runtimes::Runtimes(const Memory& memory, const TaskTables& tables) : memory_(memory), tables_(tables) {
    constexpr std::uint64_t most_stack = std::uint64_t{1} << 20;
    for (const std::uint32_t tid : list_threads()) {
        std::uint64_t from = stack_pointer_of(tid);
        for (int again = 0; from == 0 && again < 20; ++again) {
            ::usleep(500);
            from = stack_pointer_of(tid);
        }
        const Memory::Range* const range = memory.find(from);
        if (range == nullptr) continue;
        search(from, std::min(range->end, from + most_stack));  // above a thread's stack lies its local memory
    }
    search_executors();
}

void Runtimes::search(std::uint64_t begin, std::uint64_t end) {
    std::set<std::uint64_t> seen(seen_.begin(), seen_.end());
    for (const std::uint64_t value : read_words(begin & ~(word - 1), (end - begin) / word)) {
        if (value % word != 0 || !memory_.is_writable(value) || !seen.insert(value).second) continue;
        seen_.push_back(value);
        if (const FoundTask task = read_task(value, tables_); task.table != nullptr) {
            const auto handle = read_word(value + task.table->scheduler);
            if (handle && seen.insert(*handle).second) {
                seen_.push_back(*handle);
                task.table->of_smol ? add_slab_at(*handle) : add_at(*handle);
            }
        } else if (!add_at(value)) {
            add_slab_at(value);
        }
    }
}

/// The executors that wakers led to; those may lead to others.
void Runtimes::search_executors() {
    for (std::size_t i = 0; i < executors_.size(); ++i) static_cast<void>(add_slab_at(executors_[i]));
}

/// Whether lists begin there: all have a first and a last task, or neither, and one has some.
bool Runtimes::is_array(std::uint64_t at, std::uint64_t count) const {
    const auto content = read_words(at, count * words_of_list);
    bool any = false;
    for (std::size_t i = 0; i + 2 < content.size(); i += words_of_list) {
        const std::uint64_t lock = content[i], first = content[i + 1], last = content[i + 2];
        if ((lock >> 32) != 0 || (first == 0) != (last == 0)) return false;
        if (first == 0) continue;
        if (read_task(first, tables_).table == nullptr || read_task(last, tables_).table == nullptr) return false;
        any = true;
    }
    return any;
}

/// `handle` may be a runtime's (scheduler::Handle): an array of lists (from tokio 1.36 on), or one list.
bool Runtimes::add_at(std::uint64_t handle) {
    constexpr std::uint64_t least_lists = 4, most_lists = 65536;
    const Memory::Range* const range = memory_.find(handle);
    if (range == nullptr || !range->writable) return false;
    const auto content = read_words(handle, std::min(most_handle, range->end - handle) / word);
    for (std::size_t i = 0; i + 1 < content.size(); ++i) {
        const std::uint64_t at = content[i], count = content[i + 1];
        TaskLists found;
        if (std::has_single_bit(count) && count >= least_lists && count <= most_lists && at % word == 0 &&
            memory_.is_writable(at) && is_array(at, count)) {
            found = {at, count, 0};
        } else if (at != 0 && count != 0 && memory_.is_writable(at) && memory_.is_writable(count) &&
                   read_task(at, tables_).table != nullptr && read_task(count, tables_).table != nullptr) {
            found = {handle + (i - 1) * word, 1, 0};
        } else {
            continue;
        }
        if (std::ranges::any_of(lists_, [&](const TaskLists& known) { return known.at == found.at; })) return true;
        const auto links = links_of(found);
        if (!links) continue;
        found.links = *links;
        lists_.push_back(found);
        return true;
    }
    return false;
}

/// `executor` may be one of smol's, or lead into it: its slab is found by what is in it.
bool Runtimes::add_slab_at(std::uint64_t executor) {
    constexpr std::uint64_t most_entries = 1 << 24;
    constexpr std::size_t nearby = 2;  // a vector's address, capacity and length are in any order
    const Memory::Range* const range = memory_.find(executor);
    if (range == nullptr || !range->writable) return false;
    const auto content = read_words(executor, std::min(most_handle, range->end - executor) / word);
    for (std::size_t i = 0; i < content.size(); ++i) {
        if (content[i] % word != 0 || !memory_.is_writable(content[i])) continue;
        TaskSlab slab{executor + i * word, 0, 0};
        std::uint64_t capacity = 0;
        for (std::size_t j = i < nearby ? 0 : i - nearby; j < std::min(i + nearby + 1, content.size()); ++j)
            if (content[j] > capacity && content[j] <= most_entries) {
                capacity = content[j];
                slab.capacity_at = executor + j * word;
            }
        const std::uint64_t owner = executor_of(content[i], capacity, slab.task_at);
        if (owner == 0) continue;
        if (owner > slab.entries_at || slab.entries_at - owner > most_handle) {  // a waker that lies anywhere
            if (std::ranges::find(executors_, owner) == executors_.end()) executors_.push_back(owner);
            continue;
        }
        if (std::ranges::none_of(slabs_, [&](const TaskSlab& known) { return known.entries_at == slab.entries_at; }))
            slabs_.push_back(slab);
        return true;
    }
    return false;
}

/// The executor of the first task in a slab, and in which word of the entries tasks are; 0 if there is none.
std::uint64_t Runtimes::executor_of(std::uint64_t entries, std::uint64_t capacity, std::size_t& task_at) const {
    constexpr std::uint64_t enough = 64;
    const auto words = read_words(entries, std::min(capacity, enough) * entry_words);
    for (std::size_t i = 0; i + 1 < words.size(); i += entry_words)
        for (const std::size_t at : {0, 1}) {
            if (words[i] == 0 || words[i + 1] == 0 || !memory_.is_writable(words[i + at])) continue;
            const FoundTask task = read_task(words[i + at], tables_);
            if (task.table == nullptr || !task.table->of_smol) continue;
            task_at = at;
            return read_word(words[i + at] + task.table->scheduler).value_or(0);
        }
    return 0;
}

/// Where the trailer has a task's neighbours: where all tasks' links agree both ways.
std::optional<std::uint32_t> Runtimes::links_of(const TaskLists& lists) const {
    constexpr std::uint32_t most = 48;
    constexpr std::size_t enough = 1000;  // each costs calls of the kernel, and there may be a million
    for (std::uint32_t links = 0; links <= most; links += word) {
        std::vector<ListedTask> tasks;
        for (int again = 0; again < 3; ++again) {
            bool agree = true;
            tasks.clear();
            for (std::size_t i = 0; i < lists.count && agree && tasks.size() < enough; ++i)
                agree = walk_list(lists.at + i * list_bytes, links, tables_, enough, tasks);
            if (agree && !tasks.empty()) return links;
        }
    }
    return std::nullopt;
}

bool walk_list(std::uint64_t list, std::uint32_t links, const TaskTables& tables, std::size_t most,
               std::vector<ListedTask>& tasks) {
    const auto ends = read_words(list + word, 2);
    if (ends.empty()) return false;
    std::uint64_t previous = 0, owner = 0;
    for (std::uint64_t at = ends[0]; at != 0;) {
        if (tasks.size() >= most) return true;
        const FoundTask task = read_task(at, tables);
        TaskLinks beside;
        if (task.table == nullptr || task.table->of_smol ||
            !read_whole(at + task.table->trailer + links, &beside, sizeof beside) || beside.previous != previous)
            return false;
        // The list's number (0: of no list, as what the pool for blocking calls runs).
        if (task.owner() == 0 || (owner != 0 && task.owner() != owner)) return false;
        owner = task.owner();
        tasks.push_back({at, task.table, links});
        previous = at;
        at = beside.next;
    }
    return previous == ends[1];
}

}  // namespace flameprobe::async
