#include "scope/label_cache.hpp"

#include <array>
#include <string_view>

#include "flameprobe/label.h"

namespace flameprobe {

std::span<const ScopeLabel* const> LabelCache::labels(std::uint64_t address, std::uint64_t generation) {
    if (generation != generation_) {
        by_address_.clear();
        generation_ = generation;
    }
    const auto known = by_address_.find(address);
    if (known != by_address_.end()) return known->second;
    return by_address_.emplace(address, read_path(address)).first->second;
}

LabelCache::Path LabelCache::read_path(std::uint64_t address) {
    std::array<std::byte, FLAMEPROBE_LABEL_BYTES + 1> bytes;
    const std::size_t size = read_(address, bytes);
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), size);
    // Without its end the text is not one of ours, or not all there.
    const auto end = rest.find('\0');
    if (end == rest.npos && size < bytes.size()) return {};
    rest = rest.substr(0, end == rest.npos ? FLAMEPROBE_LABEL_BYTES : end);
    Path path;
    while (!rest.empty()) {
        const auto stop = rest.find(FLAMEPROBE_LABEL_NEXT);
        const auto text = rest.substr(0, stop);
        if (!text.empty()) path.push_back(label(text));
        rest = stop == rest.npos ? std::string_view() : rest.substr(stop + 1);
    }
    return path;
}

const ScopeLabel* LabelCache::label(std::string_view text) {
    const auto known = by_text_.find(text);
    if (known != by_text_.end()) return &known->second;
    ScopeLabel made;
    made.id = static_cast<std::uint32_t>(by_text_.size());
    made.text = text;
    if (const auto end = text.find(FLAMEPROBE_LABEL_KEY_END); end != text.npos) made.text[end] = '=';
    return &by_text_.emplace(std::string(text), std::move(made)).first->second;
}

std::size_t LabelCache::memory() const { return by_address_.size() * 64 + by_text_.size() * 192; }

}  // namespace flameprobe
