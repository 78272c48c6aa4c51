// Which sampled allocations are alive, by address. A thread that frees looks into a filter of 16 KiB, and only where
// that has the address's byte into the table. No thread waits for another.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/hash.hpp"

namespace flameprobe::alloc {

/// How many of the table's addresses fall on each byte, 255 for ever once it is reached. In a forked child, whose table
/// is empty, what it inherits costs a look into the table.
class AddressFilter {
public:
    static constexpr std::size_t size = std::size_t{1} << 14;

    bool may_have(const void* address) const noexcept {
        return counts_[place(address)].load(std::memory_order_relaxed) != 0;
    }
    void add(const void* address) noexcept { change(address, 1); }
    void remove(const void* address) noexcept { change(address, -1); }

private:
    static std::size_t place(const void* address) noexcept {
        constexpr unsigned bits = 14;
        return (reinterpret_cast<std::uintptr_t>(address) >> 4) * 0x9e3779b97f4a7c15 >> (64 - bits);
    }
    void change(const void* address, int by) noexcept {
        auto& count = counts_[place(address)];
        std::uint8_t now = count.load(std::memory_order_relaxed);
        while (now != 255 &&
               !count.compare_exchange_weak(now, static_cast<std::uint8_t>(now + by), std::memory_order_relaxed)) {
        }
    }

    std::atomic<std::uint8_t> counts_[size]{};
};

/// Zeros are an empty table. An address has two buckets in a small part of the table, for when these are full two in
/// the rest: of a table for 44 GiB a heap of 1 GiB uses a few pages. What is known of an address is a node, which
/// stays after it was freed until the collector has come: a program may be given one address again and again meanwhile.
class LiveTable {
public:
    struct Slot {
        std::atomic<std::uint64_t> key;  // the address; 0: free
        std::uint32_t node;
    };
    /// What was freed; or `bytes` of address space that were unmapped at `id`, or moved from there to `moved_to`.
    struct Freed {
        std::uint64_t id, time_ns, bytes = 0, moved_to = 0;
    };
    struct Node {
        Freed freed;
        std::atomic<std::uint32_t> next;  // number of the next one that is freed, or that is in no use
    };
    using NodeNumber = std::uint32_t;  // counted from 1; 0: none

    LiveTable() = default;
    /// `count` of each: a power of two.
    LiveTable(Slot* slots, Node* nodes, std::uint32_t count) : slots_(slots), nodes_(nodes), count_(count) {}

    /// False where there is no room for it. Each address is in the table once.
    bool insert(std::uint64_t address, std::uint64_t id) noexcept {
        const NodeNumber node = claim_node();
        if (node == 0) return false;
        nodes_[node - 1].freed = {id, 0};
        if (put(address, node)) return true;
        release_node(node);
        return false;
    }
    /// Takes an address out that the caller is about to free or move; 0: it is not there. The node is the caller's, who
    /// must give it to freed() or put().
    NodeNumber take(std::uint64_t address) noexcept {
        for (unsigned i = 0; i < places; ++i) {
            Slot& slot = place(address, i);
            if (slot.key.load(std::memory_order_acquire) != address) continue;
            const NodeNumber node = slot.node;
            slot.key.store(0, std::memory_order_release);
            return node;
        }
        return 0;
    }
    bool put(std::uint64_t address, NodeNumber node) noexcept {
        for (unsigned i = 0; i < places; ++i) {
            Slot& slot = place(address, i);
            std::uint64_t none = 0;
            if (slot.key.load(std::memory_order_relaxed) != 0) continue;
            if (!slot.key.compare_exchange_strong(none, busy, std::memory_order_acquire)) continue;
            slot.node = node;
            slot.key.store(address, std::memory_order_release);
            return true;
        }
        return false;
    }
    /// The node's address is free now; the collector learns of it.
    void freed(NodeNumber number, std::uint64_t time_ns) noexcept {
        nodes_[number - 1].freed.time_ns = time_ns;
        tell(number);
    }
    /// Address space is unmapped or moved. False where there is no room for it.
    bool unmapped(const Freed& what) noexcept {
        const NodeNumber node = claim_node();
        if (node == 0) return false;
        nodes_[node - 1].freed = what;
        tell(node);
        return true;
    }
    /// The collector only: calls `each(Freed)` for all since the last call, the last one first.
    template <class Each>
    void take_freed(Each each) {
        NodeNumber number = freed_.exchange(0, std::memory_order_acquire);
        while (number != 0) {
            const Node& node = nodes_[number - 1];
            const NodeNumber next = node.next.load(std::memory_order_relaxed);
            each(node.freed);
            release_node(number);
            number = next;
        }
    }

private:
    static constexpr unsigned in_bucket = 8, places = 4 * in_bucket;
    static constexpr std::uint32_t in_small_part = 1 << 12;
    static constexpr std::uint64_t busy = 1;

    /// Where an address may be, the first place to try being 0: of two buckets in turn, so that neither fills up first.
    Slot& place(std::uint64_t address, unsigned number) const noexcept {
        const bool has_parts = in_small_part < count_, in_small = has_parts && number < places / 2;
        const std::uint32_t begin = has_parts && !in_small ? in_small_part : 0;
        const std::uint64_t buckets = ((in_small ? in_small_part : count_) - begin) / in_bucket;
        const std::uint64_t hash = splitmix64(address), half = number % 2 == 0 ? hash >> 32 : hash & 0xffffffff;
        return slots_[begin + (half * buckets >> 32) * in_bucket + number % (places / 2) / 2];
    }
    /// Above the number of the first unused one is a count, so that the list is not mistaken for one it was before.
    NodeNumber claim_node() noexcept {
        std::uint64_t head = unused_.load(std::memory_order_acquire);
        while (static_cast<NodeNumber>(head) != 0) {
            const NodeNumber number = static_cast<NodeNumber>(head);
            const std::uint64_t next =
                ((head >> 32) + 1) << 32 | nodes_[number - 1].next.load(std::memory_order_relaxed);
            if (unused_.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return number;
        }
        if (begun_.load(std::memory_order_relaxed) >= count_) return 0;
        const NodeNumber number = begun_.fetch_add(1, std::memory_order_relaxed) + 1;
        return number <= count_ ? number : 0;
    }
    void tell(NodeNumber number) noexcept {
        NodeNumber first = freed_.load(std::memory_order_relaxed);
        do nodes_[number - 1].next.store(first, std::memory_order_relaxed);
        while (!freed_.compare_exchange_weak(first, number, std::memory_order_release, std::memory_order_relaxed));
    }
    void release_node(NodeNumber number) noexcept {
        std::uint64_t head = unused_.load(std::memory_order_relaxed), mine = 0;
        do {
            nodes_[number - 1].next.store(static_cast<NodeNumber>(head), std::memory_order_relaxed);
            mine = ((head >> 32) + 1) << 32 | number;
        } while (!unused_.compare_exchange_weak(head, mine, std::memory_order_acq_rel));
    }

    Slot* slots_ = nullptr;
    Node* nodes_ = nullptr;
    std::uint32_t count_ = 0;
    std::atomic<std::uint32_t> begun_{0};  // nodes that were used once
    std::atomic<std::uint64_t> unused_{0};
    std::atomic<NodeNumber> freed_{0};
};

}  // namespace flameprobe::alloc
