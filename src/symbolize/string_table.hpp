#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
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
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* next_ = nullptr;  // in the last one
    std::size_t block_left_ = 0;
};

inline StringTable::StringTable() {
    views_.emplace_back();
    ids_.emplace(std::string_view(), 0);
}

inline StringId StringTable::intern(std::string_view text) {
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    if (blocks_.empty() || block_left_ < text.size()) {
        block_left_ = std::max(block_size, text.size());
        blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_left_));  // pages come as they are needed
        next_ = blocks_.back().get();
    }
    char* const copy = next_;
    std::memcpy(copy, text.data(), text.size());
    next_ += text.size();
    block_left_ -= text.size();
    const auto id = static_cast<StringId>(views_.size());
    views_.emplace_back(copy, text.size());
    ids_.emplace(views_.back(), id);
    return id;
}

}  // namespace flameprobe
