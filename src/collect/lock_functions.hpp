// Whether a stack stands in a function of glibc that takes a lock.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/function_index.hpp"
#include "collect/lock_words.hpp"
#include "unwind/code_map.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// The collector thread only.
class LockFunctions {
public:
    /// `map` must outlive it.
    explicit LockFunctions(const CodeMap& map) : map_(map) {}

    /// The function that a thread with these frames, leaf first, waits in.
    LockFunction of(std::span<const CodeFrame> frames);

private:
    /// One mapped glibc: libc.so.6, or libpthread.so.0 before glibc 2.34.
    struct Library {
        std::uint64_t bias = 0;
        std::vector<std::byte> index_bytes;
        FunctionIndex index;
        struct Entry {
            std::uint64_t end = 0;
            LockFunction function = LockFunction::none;
        };
        std::map<std::uint64_t, Entry> exported;      // by start, in the file's terms
        std::map<std::uint64_t, LockFunction> known;  // what the function at a start turned out to be
    };

    Library* library_of(std::uint32_t region, std::uint64_t address);
    static bool read(const CodeRegion& region, Library& library);
    static LockFunction function_at(Library& library, std::uint64_t address);

    const CodeMap& map_;
    std::unordered_map<std::uint32_t, Library> libraries_;  // by region; without exported: not glibc's
};

}  // namespace flameprobe
