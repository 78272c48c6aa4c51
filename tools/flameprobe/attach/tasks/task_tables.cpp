#include "task_tables.hpp"

#include <algorithm>
#include <bit>

namespace flameprobe::async {
namespace {

constexpr std::size_t functions_of_table = 7, words_of_table = 10;
constexpr std::size_t run_of_table = 5;  // of smol's functions

/// Whether offsets can be one task's: the header has four words, the future's cell begins with the scheduler and the
/// task's number, and the trailer comes last.
bool are_offsets(std::uint64_t trailer, std::uint64_t scheduler, std::uint64_t id) {
    constexpr std::uint64_t least = 0x18, most = 0x80, near = 0x40, largest = 1 << 24;
    return scheduler >= least && scheduler <= most && id >= scheduler && id <= scheduler + near && trailer > id &&
           trailer <= largest && scheduler % word == 0 && id % word == 0 && trailer % word == 0;
}

}  // namespace

TaskTables::TaskTables(const Memory& memory, const std::string& executable) {
    std::vector<const Memory::Range*> own;
    for (const Memory::Range& range : memory.ranges())
        if (range.path == executable) own.push_back(&range);
    if (own.empty()) return;
    bias_ = own.front()->begin - own.front()->offset;
    const auto is_code = [&](std::uint64_t address) {
        return std::ranges::any_of(own, [&](const auto* range) {
            return range->executable && address >= range->begin && address < range->end;
        });
    };
    const auto is_constant = [&](std::uint64_t address) {
        return std::ranges::any_of(own, [&](const auto* range) {
            return !range->executable && address >= range->begin && address < range->end;
        });
    };
    for (const Memory::Range* const range : own) {
        if (range->executable || !range->readable) continue;
        const auto content = read_words(range->begin, (range->end - range->begin) / sizeof(std::uint64_t));
        std::size_t code = 0;  // words in a row before this one
        for (std::size_t i = 0; i + words_of_table - functions_of_table <= content.size(); ++i) {
            if (code >= functions_of_table && are_offsets(content[i], content[i + 1], content[i + 2])) {
                const std::size_t first = i - functions_of_table;
                tables_[range->begin + first * sizeof(std::uint64_t)] = {
                    content[first], static_cast<std::uint32_t>(content[i]), static_cast<std::uint32_t>(content[i + 1]),
                    static_cast<std::uint32_t>(content[i + 2])};
            }
            if (code >= functions_of_table && is_constant(content[i]))
                if (const auto table = smol_table(content[i - functions_of_table + run_of_table], content[i])) {
                    const std::uint64_t at = range->begin + (i - functions_of_table) * word;
                    tables_[at] = last_[at] = *table;
                    last_[at].id = last_[at].table_at = 3 * word;
                    last_[at].state_at = 0;
                }
            code = is_code(content[i]) ? code + 1 : 0;
        }
    }
}

/// `layout`: the address of async-task's TaskLayout. Its size and alignment come first, in any order; then where the
/// function that schedules it, the future and its result are, of which the last two share their place.
std::optional<TaskTable> TaskTables::smol_table(std::uint64_t poll, std::uint64_t layout) const {
    constexpr std::uint64_t most_alignment = 4096, largest = 1 << 24;
    auto numbers = read_words(layout, 5);
    if (numbers.empty()) return std::nullopt;
    const auto [alignment, size] = std::minmax(numbers[0], numbers[1]);
    const std::uint64_t schedule = numbers[2], future = numbers[3];
    if (!std::has_single_bit(alignment) || alignment < word || alignment > most_alignment || size > largest ||
        schedule < header_bytes || schedule > 2 * header_bytes || future < schedule || future > size ||
        numbers[4] != future)
        return std::nullopt;
    TaskTable table;
    table.of_smol = true;
    table.poll = poll;
    table.trailer = static_cast<std::uint32_t>(size);
    table.scheduler = static_cast<std::uint32_t>(schedule);
    table.future = static_cast<std::uint32_t>(future);
    table.id = table.table_at = 0;
    table.state_at = word;
    table.running = 2, table.ended = 4 | 8, table.woken = 1;  // async-task, state.rs; closed is ended
    return table;
}

const TaskTable* TaskTables::of(const std::byte* header) const {
    for (const std::size_t at : {2 * word, 0 * word, 3 * word}) {
        const auto& tables = at == 3 * word ? last_ : tables_;
        const auto known = tables.find(word_at(header, at));
        if (known != tables.end() && known->second.table_at == at) return &known->second;
    }
    return nullptr;
}

FoundTask read_task(std::uint64_t address, const TaskTables& tables) {
    FoundTask found;
    if (address == 0 || address % word != 0 || !read_whole(address, found.header.data(), header_bytes)) return {};
    found.table = tables.of(reinterpret_cast<const std::byte*>(found.header.data()));
    return found;
}

}  // namespace flameprobe::async
