#include "collect/lock_functions.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/self_memory.hpp"
#include "collect/raw_names.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

// A lock's function calls one that waits, which may call another.
constexpr std::size_t most_frames = 5;
// libc's function that waits for a lock, the one that locks the mutex, and the condition's.
constexpr std::size_t condition_frame = 2;

constexpr std::array<std::pair<std::string_view, LockFunction>, 12> names{{
    {"pthread_mutex_lock", LockFunction::mutex},
    {"pthread_mutex_timedlock", LockFunction::mutex},
    {"pthread_mutex_clocklock", LockFunction::mutex},
    {"pthread_cond_wait", LockFunction::condition},
    {"pthread_cond_timedwait", LockFunction::condition},
    {"pthread_cond_clockwait", LockFunction::condition},
    {"pthread_rwlock_rdlock", LockFunction::read_lock},
    {"pthread_rwlock_timedrdlock", LockFunction::read_lock},
    {"pthread_rwlock_clockrdlock", LockFunction::read_lock},
    {"pthread_rwlock_wrlock", LockFunction::write_lock},
    {"pthread_rwlock_timedwrlock", LockFunction::write_lock},
    {"pthread_rwlock_clockwrlock", LockFunction::write_lock},
}};

LockFunction function_named(std::string_view name) {
    const auto found = std::ranges::find(names, name, &std::pair<std::string_view, LockFunction>::first);
    return found == names.end() ? LockFunction::none : found->second;
}

}  // namespace

bool LockFunctions::read(const CodeRegion& region, Library& library) {
    auto image = ElfImage::from_file(region);
    if (!image) image = ElfImage::from_memory(region, ElfImage::Parts::all);
    const auto bias = image ? image->bias(region) : std::nullopt;
    if (!bias) return false;
    const ReadFile file = [&](std::uint64_t at, std::span<std::byte> out) { return image->read(at, out); };
    const CodeSymbols symbols(file);
    const std::string name = symbols.soname();
    if (name != "libc.so.6" && name != "libpthread.so.0") return false;
    library.bias = *bias;
    std::uint64_t index_address = 0;
    library.index_bytes = symbols.index_bytes(index_address);
    library.index = FunctionIndex(library.index_bytes, index_address);
    for (const CodeSymbols::Table& table : symbols.tables()) {
        if (!library.exported.empty()) break;  // .dynsym has them
        symbols.for_each_function(table, [&](const Elf64_Sym& symbol) {
            const LockFunction function = function_named(symbols.text(table.strings + symbol.st_name));
            if (function != LockFunction::none)
                library.exported[symbol.st_value] = {symbol.st_value + symbol.st_size, function};
            return true;
        });
    }
    return true;
}

LockFunctions::Library* LockFunctions::library_of(std::uint32_t region_id, std::uint64_t address) {
    const auto [known, is_new] = libraries_.try_emplace(region_id);
    Library& library = known->second;
    const CodeRegion* const region = is_new ? map_.find(address) : nullptr;
    if (region != nullptr && region->kind == RegionKind::file && !read(*region, library)) library.exported.clear();
    return library.exported.empty() ? nullptr : &library;
}

// pthread_mutex_lock goes on in a function without a name for kinds that are rare, and so do those that have a time
// limit: by a jump, so that no frame of the named one is left.
LockFunction LockFunctions::function_at(Library& library, std::uint64_t address) {
    const auto after = library.exported.upper_bound(address);
    if (after != library.exported.begin()) {
        const auto& [start, entry] = *std::prev(after);
        if (address < entry.end) return entry.function;
    }
    const std::uint64_t start = library.index.start_of(address);
    if (start == 0) return LockFunction::none;
    const auto [known, is_new] = library.known.try_emplace(start, LockFunction::none);
    if (!is_new) return known->second;
    for (const auto& [from, entry] : library.exported) {
        if (entry.function != LockFunction::mutex) continue;
        std::vector<std::byte> code(entry.end - from);
        code.resize(read_self(library.bias + from, code));
        if (jumps_to(code, library.bias + from, library.bias + start)) known->second = entry.function;
    }
    return known->second;
}

LockFunction LockFunctions::of(std::span<const CodeFrame> frames) {
    if (frames.empty() || frames[0].region == CodeFrame::no_region) return LockFunction::none;
    Library* const library = library_of(frames[0].region, frames[0].address);
    if (library == nullptr) return LockFunction::none;
    for (std::size_t at = 0; at < std::min(frames.size(), most_frames) && frames[at].region == frames[0].region; ++at) {
        const LockFunction function = function_at(*library, frames[at].address - library->bias);
        // The condition has a lock of its own too, for which its own function waits.
        if (function == LockFunction::condition && at != condition_frame) return LockFunction::none;
        if (function != LockFunction::none) return function;
    }
    return LockFunction::none;
}

}  // namespace flameprobe
