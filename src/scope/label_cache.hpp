// The texts of labels, read from the sampled process by address and remembered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flameprobe/label.h"

namespace flameprobe {

/// One scope's label. Equal texts are one ScopeLabel; it stays where it is as long as its LabelCache lives.
struct ScopeLabel {
    std::uint32_t id = 0;  // 0, 1, 2, ... in the order of first sight
    std::string text;      // "checkout", or "tenant=acme"
};

/// Copies from the sampled process's memory; gives the number of bytes copied from the front. Never faults.
using ReadMemory = std::function<std::size_t(std::uint64_t address, std::span<std::byte> out)>;

/// One thread only.
class LabelCache {
public:
    explicit LabelCache(ReadMemory read) : read_(std::move(read)) {}

    /// What the label at `address` stands for: one scope, or several, outermost first, for a context that was carried
    /// over from another thread. Empty if there is no readable text. `generation` is the code map's: a literal's
    /// address may hold another text once code was mapped anew. Valid until the next call.
    std::span<const ScopeLabel* const> labels(std::uint64_t address, std::uint64_t generation) {
        if (generation != generation_) {
            by_address_.clear();
            generation_ = generation;
        }
        const auto known = by_address_.find(address);
        if (known != by_address_.end()) return known->second;
        return by_address_.emplace(address, read_path(address)).first->second;
    }
    std::size_t size() const { return by_text_.size(); }
    std::size_t memory() const { return by_address_.size() * 64 + by_text_.size() * 192; }

private:
    using Path = std::vector<const ScopeLabel*>;
    Path read_path(std::uint64_t address) {
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
    const ScopeLabel* label(std::string_view text) {
        const auto known = by_text_.find(text);
        if (known != by_text_.end()) return &known->second;
        ScopeLabel made;
        made.id = static_cast<std::uint32_t>(by_text_.size());
        made.text = text;
        if (const auto end = text.find(FLAMEPROBE_LABEL_KEY_END); end != text.npos) made.text[end] = '=';
        return &by_text_.emplace(std::string(text), std::move(made)).first->second;
    }

    ReadMemory read_;
    std::uint64_t generation_ = 0;
    std::unordered_map<std::uint64_t, Path> by_address_;
    std::map<std::string, ScopeLabel, std::less<>> by_text_;
};

}  // namespace flameprobe
