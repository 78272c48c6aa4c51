#pragma once

#include <cstdint>
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
    std::vector<std::string_view> views_;
    std::unordered_map<std::string_view, StringId> ids_;
    std::deque<std::vector<char>> blocks_;
    std::size_t block_used_ = 0;
};

}  // namespace flameprobe
