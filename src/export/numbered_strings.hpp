// The string table of pprof and OTLP.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace flameprobe {

/// Each distinct text has a number, in the order of first appearance. 0 is "", so that 0 can mean none.
class NumberedStrings {
public:
    std::uint64_t id(const std::string& text) {
        const auto [entry, is_new] = ids_.try_emplace(text, texts_.size());
        if (is_new) texts_.push_back(&entry->first);
        return entry->second;
    }
    const std::vector<const std::string*>& texts() const { return texts_; }

private:
    std::unordered_map<std::string, std::uint64_t> ids_{{"", 0}};
    std::vector<const std::string*> texts_{&ids_.begin()->first};
};

}  // namespace flameprobe
