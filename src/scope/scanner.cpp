#include "scope/scanner.hpp"

#include <algorithm>

namespace flameprobe {

namespace {

// Distinct addresses are few (one a guard and one a call below it); this bounds a host that generates code for ever.
constexpr std::size_t most_places = 1 << 16;

using detail::record_size;
constexpr std::size_t piece_size = std::size_t{64} << 10;
constexpr std::size_t most_remembered = 1 << 13;  // records: half a mebibyte

/// The frame whose memory holds [address, address + record_size): frame i reaches from the CFA of the frame it called
/// (where that frame's return address ended) up to its own.
std::optional<std::uint32_t> frame_of(std::uint64_t address, std::uint64_t sp, const std::vector<CodeFrame>& frames,
                                      bool cfas_grow) {
    const auto holds = [&](std::size_t i) {
        const std::uint64_t low = i == 0 ? sp : frames[i - 1].cfa;
        return address >= low && address + record_size <= frames[i].cfa;
    };
    if (cfas_grow) {
        const auto at = std::upper_bound(frames.begin(), frames.end(), address,
                                         [](std::uint64_t value, const CodeFrame& frame) { return value < frame.cfa; });
        const auto i = static_cast<std::size_t>(at - frames.begin());
        if (at == frames.end() || !holds(i)) return std::nullopt;
        return static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (holds(i)) return static_cast<std::uint32_t>(i);
    }
    return std::nullopt;
}

}  // namespace

const UnwindTableMatch::Place& UnwindTableMatch::place(std::uint64_t address) {
    if (map_.generation() != generation_ || places_.size() >= most_places) {
        places_.clear();
        generation_ = map_.generation();
    }
    const auto [at, is_new] = places_.try_emplace(address);
    if (!is_new) return at->second;
    if (const CodeRegion* const region = map_.find(address)) {
        if (const auto tables = modules_.find(*region); tables.cfi != nullptr) {
            at->second = {region->id, tables.cfi->function(address, tables.bias)};
        }
    }
    return at->second;
}

bool UnwindTableMatch::operator()(std::uint64_t a, std::uint64_t b) {
    const Place first = place(a), second = place(b);
    if (first.region == CodeFrame::no_region || first.region != second.region) return false;
    if (!first.function.described || !second.function.described) return false;
    if (first.function.start == second.function.start) return true;
    return first.function.split_off != second.function.split_off;
}

void ScopeScanner::find(StackCopy copy, const Walk& walk, StackBeyond* beyond, std::vector<PlacedScope>& out) {
    out.clear();
    if (walk.frames.empty()) return;
    const auto& frames = walk.frames;
    const auto grows = [](const CodeFrame& a, const CodeFrame& b) { return a.cfa < b.cfa; };
    const Stack stack{frames, copy.address, copy.address + copy.bytes.size(),
                      std::is_sorted(frames.begin(), frames.end(), grows)};
    // Above the last frame lies what is not known to belong to this stack: another thread's, another coroutine's.
    const std::uint64_t top = std::max_element(frames.begin(), frames.end(), grows)->cfa;
    const std::uint64_t end = std::clamp(top, copy.address, stack.copy_end);
    records_.clear();
    placed_.clear();
    beyond_.clear();
    scan_for_seals(copy.address, copy.bytes.first(static_cast<std::size_t>(end - copy.address)), records_);
    // A record may lie across the end of the copy, so start a little below it.
    if (beyond != nullptr && walk.beyond_end > stack.copy_end) {
        const auto overlap = std::min<std::uint64_t>(copy.bytes.size(), record_size - 8);
        scan_beyond(stack.copy_end - overlap, std::min(top, walk.beyond_end), *beyond);
    }
    for (const auto& record : records_) {
        if (const auto placed = place(record, stack)) (placed->beyond ? beyond_ : placed_).push_back(*placed);
    }
    name_beyond();
    if (walk.beyond_end > stack.copy_end) keep_proven(stack);
    order_within_frames();
    for (const auto& placed : placed_) show(placed, out);
}

void ScopeScanner::show(const Placed& placed, std::vector<PlacedScope>& out) {
    const auto labels = labels_.labels(placed.record.label, map_.generation());
    (labels.empty() ? statistics_.no_text : statistics_.accepted) += std::max<std::size_t>(labels.size(), 1);
    for (const ScopeLabel* label : labels) out.push_back({placed.frame, placed.beyond, label});
}

// A scope that a fiber was begun in is on another stack.
void ScopeScanner::find_beyond(const std::vector<std::uint64_t>& named, const std::vector<CodeFrame>& frames,
                               std::vector<PlacedScope>& out) {
    out.clear();
    placed_.clear();
    for (std::uint64_t chain : named) {
        statistics_.unproven += by_chain_.contains(chain) ? 0 : 1;
        for (auto known = by_chain_.find(chain); known != by_chain_.end(); known = by_chain_.find(chain)) {
            const ScopeRecord record = known->second;
            if (record.address < frames.front().cfa || record.address >= frames.back().cfa) break;
            if (placed_.size() > most_remembered) break;
            const auto frame = frame_of(record.address, 0, frames, false);
            const bool fits =
                frame && (frames[*frame].address == 0 || same_function_(record.pc, frames[*frame].address));
            placed_.push_back({fits ? *frame : static_cast<std::uint32_t>(frames.size()), true, 0, record});
            chain = record.outer;
        }
    }
    statistics_.remembered += placed_.size();
    std::reverse(placed_.begin(), placed_.end());
    std::stable_sort(placed_.begin(), placed_.end(),
                     [](const Placed& a, const Placed& b) { return a.frame > b.frame; });
    for (const Placed& placed : placed_) show(placed, out);
}

void ScopeScanner::scan_beyond(std::uint64_t from, std::uint64_t to, StackBeyond& beyond) {
    constexpr std::size_t overlap = record_size - 8;
    piece_.resize(piece_size);
    while (from + record_size <= to) {
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, to - from));
        const std::size_t got = beyond.read(from, std::span(piece_).first(wanted));
        scan_for_seals(from, std::span(piece_).first(got), records_);
        if (got < wanted || got <= overlap) return;
        from += got - overlap;
    }
}

std::optional<ScopeScanner::Placed> ScopeScanner::place(const ScopeRecord& record, const Stack& stack) {
    const auto frame = frame_of(record.address, stack.address, stack.frames, stack.cfas_grow);
    if (!frame) {
        ++statistics_.no_frame;
    } else if (!same_function_(record.pc, stack.frames[*frame].address)) {
        ++statistics_.other_function;
    } else {
        if (by_chain_.size() >= most_remembered) by_chain_.clear();
        by_chain_.emplace(record.chain, record);
        return Placed{*frame, record.address + record_size > stack.copy_end, 0, record};
    }
    return std::nullopt;
}

// Scopes nest, so a record names the one that is open around it for as long as it is open itself.
void ScopeScanner::name_beyond() {
    named_beyond_.clear();
    for (const auto& placed : placed_) named_beyond_.push_back(placed.record.outer);
    std::erase_if(named_beyond_, [&](std::uint64_t chain) {
        return chain == 0 || std::any_of(placed_.begin(), placed_.end(),
                                         [&](const Placed& placed) { return placed.record.chain == chain; });
    });
}

void ScopeScanner::keep_proven(const Stack& stack) {
    std::vector<std::uint64_t> named = named_beyond_;
    std::size_t proven = 0;
    while (!named.empty()) {
        const std::uint64_t chain = named.back();
        named.pop_back();
        const auto live = std::find_if(beyond_.begin(), beyond_.end(),
                                       [&](const Placed& placed) { return placed.record.chain == chain; });
        std::optional<Placed> found;
        if (live != beyond_.end()) {
            found = *live;
            ++proven;
        } else if (const auto known = by_chain_.find(chain); known != by_chain_.end()) {
            const ScopeRecord record = known->second;
            if (record.address + record_size > stack.copy_end) found = place(record, stack);
            if (found) ++statistics_.remembered;
        }
        // Every step leads up the stack or to an outer scope of the same frame, but a chain is the host's data.
        if (!found || placed_.size() > most_remembered) continue;
        placed_.push_back(*found);
        if (found->record.outer != 0) named.push_back(found->record.outer);
    }
    statistics_.unproven += beyond_.size() - std::min(proven, beyond_.size());
}

// Root first. Within a frame the addresses say nothing, as a compiler lays its variables out as it likes; but each
// record names the one that was innermost when it was made, so an outer scope has fewer scopes of its frame around it.
// Where stack switching broke that chain, the order of the code is the best guess.
void ScopeScanner::order_within_frames() {
    std::sort(placed_.begin(), placed_.end(), [](const Placed& a, const Placed& b) {
        return a.frame != b.frame ? a.frame > b.frame : a.record.pc < b.record.pc;
    });
    for (auto first = placed_.begin(); first != placed_.end();) {
        const auto last = std::find_if(first, placed_.end(), [&](const Placed& p) { return p.frame != first->frame; });
        const auto find = [&](std::uint64_t chain) {
            return std::find_if(first, last, [&](const Placed& p) { return p.record.chain == chain; });
        };
        if (last - first > 1) {
            for (auto at = first; at != last; ++at) {
                auto outer = find(at->record.outer);
                for (at->outside = 0; outer != last && at->outside < last - first; ++at->outside) {
                    outer = find(outer->record.outer);
                }
            }
            std::stable_sort(first, last, [](const Placed& a, const Placed& b) { return a.outside < b.outside; });
        }
        first = last;
    }
}

std::size_t ScopeScanner::memory() const {
    return labels_.memory() + records_.capacity() * sizeof(ScopeRecord) + placed_.capacity() * sizeof(Placed) +
           beyond_.capacity() * sizeof(Placed) + piece_.capacity() + by_chain_.size() * 72;
}

}  // namespace flameprobe
