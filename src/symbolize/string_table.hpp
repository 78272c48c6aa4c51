#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flameprobe {

using StringId = std::uint32_t;

/// Holds every distinct string once, in big blocks; views stay valid as long as the table. Id 0 is the empty string.
class StringTable {
public:
    StringTable();
    // A copy's views would point into the original.
    StringTable(const StringTable&) = delete;
    StringTable& operator=(const StringTable&) = delete;
    StringTable(StringTable&&) = default;
    StringTable& operator=(StringTable&&) = default;

    StringId intern(std::string_view text);
    std::string_view view(StringId id) const { return views_[id]; }
    std::size_t size() const { return views_.size(); }

private:
    static constexpr std::size_t block_size = 64 * 1024;

    std::vector<std::string_view> views_;
    std::unordered_map<std::string_view, StringId> ids_;
    std::deque<std::vector<char>> blocks_;
    std::size_t block_used_ = 0;
};

inline StringTable::StringTable() {
    views_.emplace_back();
    ids_.emplace(std::string_view(), 0);
}

inline StringId StringTable::intern(std::string_view text) {
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    if (blocks_.empty() || blocks_.back().size() - block_used_ < text.size()) {
        blocks_.emplace_back(std::max(block_size, text.size()));
        block_used_ = 0;
    }
    char* copy = blocks_.back().data() + block_used_;
    std::memcpy(copy, text.data(), text.size());
    block_used_ += text.size();
    const auto id = static_cast<StringId>(views_.size());
    views_.emplace_back(copy, text.size());
    ids_.emplace(views_.back(), id);
    return id;
}

}  // namespace flameprobe
