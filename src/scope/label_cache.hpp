// The texts of labels, read from the sampled process by address and remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

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
    std::span<const ScopeLabel* const> labels(std::uint64_t address, std::uint64_t generation);
    std::size_t size() const { return by_text_.size(); }
    std::size_t memory() const;

private:
    using Path = std::vector<const ScopeLabel*>;
    Path read_path(std::uint64_t address);
    const ScopeLabel* label(std::string_view text);

    ReadMemory read_;
    std::uint64_t generation_ = 0;
    std::unordered_map<std::uint64_t, Path> by_address_;
    std::map<std::string, ScopeLabel, std::less<>> by_text_;
};

}  // namespace flameprobe
