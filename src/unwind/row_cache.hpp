// Rows remembered per absolute address: open addressing, linear probing, no deletion one by one.
#pragma once

#include <cstddef>
#include <vector>

#include "unwind/row.hpp"

namespace flameprobe {

/// One thread only. A pointer it gives is valid until the next insert or keep_if.
class RowCache {
public:
    static constexpr std::size_t first_size = 1u << 11, last_size = 1u << 16;  // rows: 64 KiB to 2 MiB

    const Row* find(std::uint64_t address) const {
        for (std::size_t i = place(address);; i = (i + 1) & mask_) {
            if (rows_[i].address == address && rows_[i].kind != RowKind::empty) return &rows_[i];
            if (rows_[i].kind == RowKind::empty) return nullptr;
        }
    }
    /// `row.address` must not be in the cache yet.
    const Row* insert(const Row& row) {
        if ((used_ + 1) * 2 > rows_.size()) grow();
        return put(row);
    }
    template <class Predicate>
    void keep_if(Predicate keep) {
        std::vector<Row> old(rows_.size());
        old.swap(rows_);
        used_ = 0;
        for (const Row& row : old)
            if (row.kind != RowKind::empty && keep(row)) put(row);
    }
    std::size_t size() const { return used_; }
    std::size_t memory() const { return rows_.capacity() * sizeof(Row); }

private:
    // Fibonacci hashing: return addresses share their low bits' distribution, so take the product's high ones.
    std::size_t place(std::uint64_t address) const { return (address * 0x9e3779b97f4a7c15u) >> 40 & mask_; }
    const Row* put(const Row& row) {
        std::size_t i = place(row.address);
        while (rows_[i].kind != RowKind::empty) i = (i + 1) & mask_;
        rows_[i] = row;
        ++used_;
        return &rows_[i];
    }
    // A program with more than 32,768 distinct hot addresses starts afresh now and then instead of eating the host's
    // memory.
    void grow() {
        const bool full = rows_.size() >= last_size;
        std::vector<Row> old(full ? rows_.size() : rows_.size() * 2);
        old.swap(rows_);
        mask_ = rows_.size() - 1;
        used_ = 0;
        if (full) return;
        for (const Row& row : old)
            if (row.kind != RowKind::empty) put(row);
    }

    std::vector<Row> rows_ = std::vector<Row>(first_size);
    std::size_t mask_ = first_size - 1;
    std::size_t used_ = 0;
};

}  // namespace flameprobe
