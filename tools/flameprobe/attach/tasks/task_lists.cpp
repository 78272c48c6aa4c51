// New tasks, found along the lists of the runtimes.
#include <algorithm>

#include "task_looks.hpp"

namespace flameprobe::async {
namespace {

constexpr double most_share_of_lists = 0.1;               // of a CPU, until what was there at the start is known
constexpr std::uint64_t pause_of_broken = ns_per_second;  // before a list whose links led nowhere is followed anew
constexpr std::uint64_t never = ~std::uint64_t{0};

}  // namespace

// A new task is put at its list's front: those before the first that is known are new. A list whose end was not seen
// yet is followed to it.
void TaskLooks::begin_fronts(std::uint64_t now_ns) {
    const bool is_behind = !fronts_.empty();
    heads_.clear();
    for (const TaskLists& lists : lists_) {
        auto content = read_words(lists.at, lists.count * list_bytes / word);
        content.resize(lists.count * list_bytes / word);
        for (std::size_t i = 0; i < lists.count; ++i) {
            const std::size_t number = heads_.size();
            heads_.push_back(content[i * list_bytes / word + 1]);
            if (whole_at_ns_.size() <= number) whole_at_ns_.push_back(0);
            if (is_behind || heads_.back() == 0) continue;
            const bool whole = whole_at_ns_[number] <= now_ns;
            const auto known = tasks_.find(heads_.back());  // most often
            const std::size_t size = known == tasks_.end() ? header_bytes : size_of(*known->second->table, lists.links);
            fronts_.push_back({heads_.back(), 0, lists.links, number, whole, fronts_begun_ns_, size});
            if (whole) whole_at_ns_[number] = never;
        }
    }
    if (!is_behind) fronts_begun_ns_ = now_ns;
}

// An executor of smol's has its tasks in a slab: of a long one a part at each look.
void TaskLooks::look_at_slabs() {
    constexpr std::size_t most_entries = 4096;
    for (Slab& slab : slabs_) {
        const auto entries = read_word(slab.place.entries_at), capacity = read_word(slab.place.capacity_at);
        if (!entries || !capacity || *capacity == 0) continue;
        if (slab.next >= *capacity) slab.next = 0;
        const std::size_t number = std::min<std::size_t>(most_entries, *capacity - slab.next);
        const auto words = read_words(*entries + slab.next * entry_words * word, number * entry_words);
        slab.next += number;
        const std::uint64_t parts = (*capacity + most_entries - 1) / most_entries, since = (parts - 1) * pause_ns_;
        for (std::size_t i = 0; i + 1 < words.size(); i += entry_words) {
            const std::uint64_t task = words[i + slab.place.task_at];
            if (words[i] == 0 || words[i + 1] == 0 || tasks_.contains(task)) continue;
            const TaskTable* const table = read_task(task, *tables_).table;
            if (table == nullptr || !table->of_smol) continue;
            const std::uint64_t before = std::max(begun_ns_, last_ns_ - std::min(last_ns_, since));
            add({task, table, 0}, read_word(task + table->id).value_or(0), looks_ == 1 ? begun_ns_ : before);
        }
    }
}

// All lists at once, since a call of the kernel costs more than what it reads; very long ones over several looks.
void TaskLooks::follow_fronts(std::uint64_t now_ns) {
    const auto most_ns = static_cast<std::uint64_t>(static_cast<double>(pause_ns_) * most_share_of_lists);
    for (const std::uint64_t began = own_cpu_ns(); !fronts_.empty() && own_cpu_ns() - began < most_ns;)
        step_fronts(now_ns);
}

void TaskLooks::step_fronts(std::uint64_t now_ns) {
    std::vector<Place> places;
    for (const Front& front : fronts_) places.push_back({front.at, front.size});
    std::vector<std::byte> bytes, alone;
    const std::size_t got = read_places(places, bytes);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < fronts_.size(); offset += places[i++].size) {
        Front& front = fronts_[i];
        const std::byte* own = bytes.data() + offset;
        const TaskTable* table = i < got ? tables_->of(own) : nullptr;
        std::size_t size = table == nullptr ? 0 : size_of(*table, front.links);
        if (i >= got || size > front.size) {  // another type of task than the last, or the first one
            table = read_task(front.at, *tables_).table;
            size = table == nullptr ? 0 : size_of(*table, front.links);
            alone.resize(size);
            own = alone.data();
            if (table != nullptr && !read_whole(front.at, alone.data(), size)) table = nullptr;
        }
        front.size = std::max(front.size, size);
        if (table != nullptr && is_linked(front, *table, own)) {
            if (!step(front, *table, own)) front.at = 0;
            continue;
        }
        // It left the list meanwhile. The one before it has another neighbour now, or has left too.
        const std::uint64_t next = front.before == 0 ? front.at : next_of(front.before, front.links);
        if (front.before != 0 && (next == front.at || next == 0)) whole_at_ns_[front.list] = now_ns + pause_of_broken;
        front.at = next == front.at ? 0 : next;
    }
    std::erase_if(fronts_, [](const Front& front) { return front.at == 0; });
}

/// Whether a task that was reached is in the list still: its links and its neighbour's agree.
bool TaskLooks::is_linked(const Front& front, const TaskTable& table, const std::byte* bytes) const {
    const std::uint64_t previous = word_at(bytes, table.trailer + front.links);
    if (front.before == 0 || previous == front.before) return true;
    return previous != 0 && next_of(previous, front.links) == front.at;
}

/// 0: it is no task, or the list's last.
std::uint64_t TaskLooks::next_of(std::uint64_t task, std::uint32_t links) const {
    const FoundTask found = read_task(task, *tables_);
    if (found.table == nullptr) return 0;
    return read_word(task + found.table->trailer + links + offsetof(TaskLinks, next)).value_or(0);
}

/// Whether the list goes on.
bool TaskLooks::step(Front& front, const TaskTable& table, const std::byte* bytes) {
    const std::uint64_t id = word_at(bytes, table.id);
    const auto known = tasks_.find(front.at);
    const bool is_known = known != tasks_.end() && known->second->id == id;
    if (!is_known) add({front.at, &table, front.links}, id, front.since_ns);
    front.before = front.at;
    front.at = word_at(bytes, table.trailer + front.links + offsetof(TaskLinks, next));
    return front.at != 0 && (front.whole || !is_known);
}

}  // namespace flameprobe::async
