#include "collect/lock_functions.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

constexpr std::size_t most_dynamic_symbols = 65536, most_strings = std::size_t{1} << 20,
                      most_index_bytes = std::size_t{4} << 20;
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

template <class T>
std::vector<T> read_list(std::uint64_t address, std::size_t count) {
    std::vector<T> items(count);
    items.resize(read_self(address, std::as_writable_bytes(std::span(items))) / sizeof(T));
    return items;
}

/// The dynamic symbols of a loaded file, as the dynamic linker has them.
struct DynamicSymbols {
    std::vector<Elf64_Sym> symbols;
    std::vector<char> strings;
    std::string_view soname;

    std::string_view text(std::uint64_t at) const {
        if (at >= strings.size()) return {};
        const std::string_view rest(strings.data() + at, strings.size() - at);
        return rest.substr(0, rest.find('\0'));
    }
};

// Only hash tables tell the number of symbols; but linkers put the strings right behind the symbols.
std::optional<DynamicSymbols> dynamic_symbols(const Elf64_Phdr& dynamic, std::uint64_t bias) {
    std::uint64_t symbols = 0, strings = 0, size = 0, soname = 0;
    const std::size_t count = std::min<std::uint64_t>(dynamic.p_memsz / sizeof(Elf64_Dyn), 1024);
    for (const Elf64_Dyn& entry : read_list<Elf64_Dyn>(bias + dynamic.p_vaddr, count)) {
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_SYMTAB) symbols = entry.d_un.d_ptr;
        if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
        if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
        if (entry.d_tag == DT_SONAME) soname = entry.d_un.d_val;
    }
    // The dynamic linker adds the load address, but not on every CPU.
    if (symbols < bias) symbols += bias;
    if (strings < bias) strings += bias;
    if (strings <= symbols || size > most_strings) return std::nullopt;
    DynamicSymbols found;
    found.strings = read_list<char>(strings, size);
    found.soname = found.text(soname);
    if (found.soname != "libc.so.6" && found.soname != "libpthread.so.0") return std::nullopt;
    const std::uint64_t number = (strings - symbols) / sizeof(Elf64_Sym);
    if (number <= most_dynamic_symbols) found.symbols = read_list<Elf64_Sym>(symbols, number);
    return found;
}

LockFunction function_named(std::string_view name) {
    const auto found = std::ranges::find(names, name, &std::pair<std::string_view, LockFunction>::first);
    return found == names.end() ? LockFunction::none : found->second;
}

}  // namespace

bool LockFunctions::read(const CodeRegion& region, Library& library) {
    auto image = ElfImage::from_file(region);
    if (!image) image = ElfImage::from_memory(region);
    const auto bias = image ? image->bias(region) : std::nullopt;
    if (!bias) return false;
    library.bias = *bias;
    std::optional<DynamicSymbols> dynamic;
    for (const Elf64_Phdr& part : image->program_headers()) {
        if (part.p_type == PT_DYNAMIC) dynamic = dynamic_symbols(part, *bias);
        if (part.p_type != PT_GNU_EH_FRAME || part.p_memsz > most_index_bytes) continue;
        library.index_bytes = read_list<std::byte>(*bias + part.p_vaddr, part.p_memsz);
        library.index = FunctionIndex(library.index_bytes, part.p_vaddr);
    }
    if (!dynamic) return false;
    for (const Elf64_Sym& symbol : dynamic->symbols) {
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
        const LockFunction function = function_named(dynamic->text(symbol.st_name));
        if (function != LockFunction::none)
            library.exported[symbol.st_value] = {symbol.st_value + symbol.st_size, function};
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
        const auto code = read_list<std::byte>(library.bias + from, entry.end - from);
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
