#include "symbolize/string_table.hpp"

#include <algorithm>
#include <cstring>

namespace flameprobe {

namespace {

constexpr std::size_t block_size = 64 * 1024;

}  // namespace

StringTable::StringTable() {
    views_.emplace_back();
    ids_.emplace(std::string_view(), 0);
}

StringId StringTable::intern(std::string_view text) {
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
