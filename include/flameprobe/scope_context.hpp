// Carries the open scopes of a task over to where the task goes on: another thread, a pool, a coroutine's resumption.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flameprobe/scope.hpp"

namespace FlameProbe {
namespace detail {

/// Searches the calling thread's stack for the records that a chain names.
class StackSearch {
public:
    explicit StackSearch(std::uintptr_t from) noexcept : at_(from) {}

    /// The record of the innermost scope of `chain`, or null if it does not lie within a mebibyte above what was found
    /// so far. Stack that is not mapped ends the search. A system call checks it: a plain read could fault,
    /// and the end of a stack of the program's own is not known.
    const flameprobe_scope* find(std::uintptr_t chain) noexcept {
        constexpr std::uintptr_t furthest = std::uintptr_t{1} << 20;
        for (const std::uintptr_t end = at_ + furthest;;) {
            // In one frame the inner scope may lie above the outer one, so all that were seen may be asked for.
            for (std::size_t i = 0; i < (seen_ < most ? seen_ : most); ++i) {
                if (FLAMEPROBE_CHAIN_OF(records_[i].tag) == chain) return &records_[i];
            }
            if (at_ >= end || !read_on()) return nullptr;
        }
    }

private:
    // Small, because stacks of coroutines are.
    static constexpr std::size_t piece = 1024, word = sizeof(std::uintptr_t), most = 64;

    bool read_on() noexcept {
        std::uintptr_t words[piece / word];
        // No further than the end of a page, behind which may be nothing; but a record may lie across it.
        std::size_t size = piece - at_ % piece;
        if (size < sizeof(flameprobe_scope)) size = sizeof(flameprobe_scope);
        iovec local{words, size};
        iovec remote{reinterpret_cast<void*>(at_), size};
        const auto got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
        if (got < static_cast<ssize_t>(sizeof(flameprobe_scope))) return false;
        const std::size_t starts = static_cast<std::size_t>(got) / word - 2;
        for (std::size_t i = 0; i < starts; ++i) {
            flameprobe_scope record;
            std::memcpy(&record, words + i, sizeof record);
            const std::uintptr_t pc = pc_of(record, at_ + i * word);
            if (pc != 0 && are_mapped(pc, record.label)) records_[seen_++ % most] = record;
        }
        at_ += starts * word;
        return true;
    }

    /// The pc that its seal yields, below 2^47 or, on aarch64, 2^48; 0 if it is no record of an open scope at that
    /// address.
    static std::uintptr_t pc_of(const flameprobe_scope& copy, std::uintptr_t address) noexcept {
        if (copy.tag == 0) return 0;
        const std::uintptr_t moved = reinterpret_cast<std::uintptr_t>(&copy) ^ address;
        const std::uintptr_t pc = flameprobe_scope_seal_(&copy, copy.tag) ^ (moved << 32 | moved >> 32);
        return pc >> 48 == 0 ? pc : 0;
    }

    /// One in 2^16 words yields a pc by chance. Where it is a copy of a tag, only this tells that it is no record,
    /// whose label could be read.
    static bool are_mapped(std::uintptr_t pc, const char* label) noexcept {
        char bytes[2];
        iovec local{bytes, sizeof bytes};
        iovec remote[2] = {{reinterpret_cast<void*>(pc), 1}, {const_cast<char*>(label), 1}};
        const unsigned count = label != nullptr ? 2 : 1;
        return process_vm_readv(getpid(), &local, 1, remote, count, 0) == static_cast<ssize_t>(count);
    }

    std::uintptr_t at_;
    flameprobe_scope records_[most];
    std::size_t seen_ = 0;
};

}  // namespace detail

/// The scopes that were open when it was captured, outermost first. As cheap to copy and keep as a pointer.
class ScopeContext {
public:
    constexpr ScopeContext() noexcept = default;

    /// The open scopes of the calling thread, 32 at most (the innermost ones). They are on the stack that it runs on,
    /// and within a mebibyte of each other. Takes about a microsecond and a system call for each 4 KiB of stack between
    /// them. Meant for handing over a job, not for inner loops. Not for signal handlers. Hidden, so
    /// that no module calls another one's copy, whose chain may be another variable.
    __attribute__((visibility("hidden"))) static ScopeContext capture() noexcept;

    constexpr bool empty() const noexcept { return path_.empty(); }
    /// The labels, outermost first, with FLAMEPROBE_LABEL_NEXT between them.
    constexpr Label path() const noexcept { return path_; }

private:
    Label path_;
};

inline ScopeContext ScopeContext::capture() noexcept {
    constexpr std::size_t most = 32;
    const char* labels[most] = {};
    std::size_t count = 0;
    detail::StackSearch stack(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
    for (std::uintptr_t chain = flameprobe_chain_v1; chain != 0 && count < most;) {
        const flameprobe_scope* const record = stack.find(chain);
        if (record == nullptr) break;
        if (record->label != nullptr) labels[count++] = record->label;
        chain = record->outer;
    }
    ScopeContext context;
    if (count == 1) context.path_ = Label::from_immortal(labels[0]);
    if (count <= 1) return context;
    char path[FLAMEPROBE_LABEL_BYTES + 1];
    std::size_t size = 0;
    while (count > 0) {
        const char* const label = labels[--count];
        const std::size_t length = std::strlen(label);
        if (length >= sizeof path - size) break;
        if (size > 0) path[size++] = FLAMEPROBE_LABEL_NEXT;
        std::memcpy(path + size, label, length);
        size += length;
    }
    context.path_ = intern(std::string_view(path, size));
    return context;
}

inline Scope::Scope(const ScopeContext& context) noexcept { flameprobe_scope_enter(&record_, context.path().text()); }

}  // namespace FlameProbe
