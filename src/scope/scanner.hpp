// Which scopes were open when a sample was taken, and between which frames they stand: read out of the copied stack.
//
// A scope leaves a record in the frame of the function that opened it (flameprobe/scope.h). A record is believed if its
// seal holds over its contents and its own address, and if the frame that it lies in belongs to the function whose pc
// it seals. So neither closed scopes, nor records that longjmp or popped frames left behind, nor other data pass for
// open. If a continued stack is refuted afterwards, the scopes in its dropped frames are still right: they belong above
// the first frame that is kept.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpu/kernel_abi.hpp"
#include "flameprobe/label.h"
#include "flameprobe/scope.h"
#include "unwind/cfi_tables.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

// What may be open scopes (flameprobe/scope.h) among the words of a stack.

/// Three words that would make an open scope if they lie at `address`.
struct ScopeRecord {
    std::uint64_t address = 0;
    std::uint64_t label = 0;  // an address in the sampled process
    std::uint64_t outer = 0;  // the chain of the scope around it, or 0
    std::uint64_t pc = 0;     // in the function that opened it
    std::uint64_t chain = 0;  // what the scopes inside it have as their `outer`

    bool operator==(const ScopeRecord&) const = default;
};

namespace detail {

static_assert(sizeof(flameprobe_scope) == 24);
inline constexpr std::size_t record_size = sizeof(flameprobe_scope), word_size = 8;

inline std::uint64_t word_at(const std::byte* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

/// flameprobe_scope_seal_ undone, for a record that was copied away from `address`.
inline std::uint64_t unseal(std::uint64_t address, std::uint64_t tag, std::uint64_t label, std::uint64_t outer) {
    return FLAMEPROBE_SCOPE_KEY ^ std::rotl(address, 32) ^ std::rotl(label, 24) ^ std::rotl(outer, 40) ^ tag;
}

inline bool is_user_address(std::uint64_t value) { return value >> cpu::user_address_bits == 0; }

inline void add_if_sealed(std::uint64_t address, const std::byte* bytes, std::vector<ScopeRecord>& out) {
    const std::uint64_t tag = word_at(bytes), label = word_at(bytes + 8), outer = word_at(bytes + 16);
    const std::uint64_t pc = unseal(address, tag, label, outer);
    if (!is_user_address(pc)) return;
    // A closed scope has a tag of 0, and one in 2^17 of those would pass for open.
    if (tag == 0 || !is_user_address(label)) return;
    out.push_back({address, label, outer, pc, FLAMEPROBE_CHAIN_OF(tag)});
}

}  // namespace detail

/// Every word of `bytes`, which lie at `address`, that is a seal over itself and the two words after it; appended in
/// the order of addresses. One word in 2^17 of anything else passes too: the caller compares the pc with the frames.
inline void scan_for_seals(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    using namespace detail;
    // Guards are aligned as their words are.
    for (std::size_t at = -address % word_size; at + record_size <= bytes.size(); at += word_size)
        add_if_sealed(address + at, bytes.data() + at, out);
}

// The texts of labels, read from the sampled process by address and remembered.

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

/// Whether two addresses lie in one function.
using SameFunction = std::function<bool(std::uint64_t a, std::uint64_t b)>;

/// By the unwind tables. Compilers move rarely executed parts of a function elsewhere (f.cold): such a part matches
/// every function of its module, because the tables do not say to which it belongs, and names may be stripped. One
/// thread only. Remembers what it found per address until the map changes.
class UnwindTableMatch {
public:
    /// Both must outlive it.
    UnwindTableMatch(const CodeMap& map, ModuleTable& modules) : map_(map), modules_(modules) {}
    bool operator()(std::uint64_t a, std::uint64_t b);

private:
    struct Place {
        std::uint32_t region = CodeFrame::no_region;
        CfiTables::Function function;
    };
    const Place& place(std::uint64_t address);

    const CodeMap& map_;
    ModuleTable& modules_;
    std::uint64_t generation_ = 0;
    std::unordered_map<std::uint64_t, Place> places_;
};

/// An open scope. It stands on the leaf's side of the frame that opened it.
struct PlacedScope {
    std::uint32_t frame = 0;            // index in the walk, leaf first, of the frame that opened it
    bool beyond = false;                // its record is past the copy
    const ScopeLabel* label = nullptr;  // owned by the scanner
};

struct ScopeStatistics {
    std::uint64_t accepted = 0;        // scopes found open
    std::uint64_t remembered = 0;      // of those, past the copy, and gone by the time it was read
    std::uint64_t no_frame = 0;        // seals outside every frame of the walk: stale, or the walk ended before them
    std::uint64_t other_function = 0;  // seals in another function's frame: stale
    std::uint64_t unproven = 0;        // past the copy, and named by no scope in the copy, or never seen
    std::uint64_t no_text = 0;         // label not readable (its library was unloaded), null or empty
};

/// One thread only. Not for signal handlers.
class ScopeScanner {
public:
    /// `map` must outlive it.
    ScopeScanner(const CodeMap& map, SameFunction same_function, ReadMemory read)
        : map_(map), same_function_(std::move(same_function)), labels_(std::move(read)) {}

    /// The scopes open in the stack that `walk` was made from, root first, the outer one first where a frame opened
    /// several. `copy` is what was walked. With `beyond`, what the walk read past the copy is read again and searched
    /// too; null leaves it out.
    void find(StackCopy copy, const Walk& walk, StackBeyond* beyond, std::vector<PlacedScope>& out);
    /// What scopes in the last copy name as open around them, and is not in it; see find_beyond().
    const std::vector<std::uint64_t>& named_beyond() const { return named_beyond_; }
    /// Scopes that were named_beyond(), and those around them, in `frames` of the same stack, leaf first, up to its
    /// root. They are open for certain. Found are those of which any walk has seen the record. One whose frame is not
    /// known stands outside of all; a frame without an address stands for several functions.
    void find_beyond(const std::vector<std::uint64_t>& named, const std::vector<CodeFrame>& frames,
                     std::vector<PlacedScope>& out);

    const ScopeStatistics& statistics() const { return statistics_; }
    std::size_t memory() const;  // bytes, estimated

private:
    struct Placed {
        std::uint32_t frame;
        bool beyond;
        std::ptrdiff_t outside;  // scopes of the same frame around it
        ScopeRecord record;
    };
    void scan_beyond(std::uint64_t from, std::uint64_t to, StackBeyond& beyond);
    struct Stack {
        const std::vector<CodeFrame>& frames;
        std::uint64_t address, copy_end;
        bool cfas_grow;
    };
    std::optional<Placed> place(const ScopeRecord& record, const Stack& stack);
    void name_beyond();
    void keep_proven(const Stack& stack);
    void order_within_frames();
    void show(const Placed& placed, std::vector<PlacedScope>& out);

    const CodeMap& map_;
    SameFunction same_function_;
    LabelCache labels_;
    ScopeStatistics statistics_;
    std::vector<ScopeRecord> records_;  // kept for their capacity
    std::vector<Placed> placed_;
    std::vector<Placed> beyond_;
    std::vector<std::uint64_t> named_beyond_;
    std::unordered_map<std::uint64_t, ScopeRecord> by_chain_;
    std::vector<std::byte> piece_;
};

}  // namespace flameprobe
