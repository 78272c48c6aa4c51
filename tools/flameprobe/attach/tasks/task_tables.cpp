#include "task_tables.hpp"

#include <algorithm>

namespace flameprobe::async {
namespace {

constexpr std::size_t functions_of_table = 7, words_of_table = 10;

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
            code = is_code(content[i]) ? code + 1 : 0;
        }
    }
}

FoundTask read_task(std::uint64_t address, const TaskTables& tables) {
    FoundTask found;
    if (address == 0 || address % word != 0 || !read_whole(address, &found.header, sizeof found.header)) return {};
    found.table = tables.find(found.header.table);
    return found;
}

}  // namespace flameprobe::async
