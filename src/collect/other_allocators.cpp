#include "collect/other_allocators.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/self_memory.hpp"
#include "unwind/code_map.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {
namespace {

template <class T>
std::vector<T> words_at(std::uint64_t address, std::uint64_t bytes) {
    constexpr std::uint64_t most = 16 << 20;
    std::vector<T> words(std::min(bytes, most) / sizeof(T));
    words.resize(read_self(address, std::as_writable_bytes(std::span(words))) / sizeof(T));
    return words;
}

/// What a loaded file's dynamic section says, with addresses in memory.
class DynamicCalls {
public:
    DynamicCalls(std::uint64_t bias, const Elf64_Phdr& dynamic) : bias_(bias) {
        for (const Elf64_Dyn& entry : words_at<Elf64_Dyn>(bias + dynamic.p_vaddr, dynamic.p_memsz))
            if (entry.d_tag > 0 && static_cast<std::size_t>(entry.d_tag) < tags_.size())
                tags_[static_cast<std::size_t>(entry.d_tag)] = entry.d_un.d_val;
        names_ = words_at<char>(address(DT_STRTAB), tags_[DT_STRSZ]);
    }
    /// Calls `use` with the value of each slot for an allocating function.
    template <class Use>
    void each(const Use& use) const {
        for (const auto& [table, size] : {std::pair(DT_JMPREL, DT_PLTRELSZ), std::pair(DT_RELA, DT_RELASZ)}) {
            const auto relocations = words_at<Elf64_Rela>(address(table), tags_[static_cast<std::size_t>(size)]);
            std::uint64_t symbols = 0;
            for (const Elf64_Rela& each : relocations) symbols = std::max(symbols, ELF64_R_SYM(each.r_info) + 1);
            const auto known = words_at<Elf64_Sym>(address(DT_SYMTAB), symbols * sizeof(Elf64_Sym));
            for (const Elf64_Rela& each : relocations) {
                const std::uint64_t symbol = ELF64_R_SYM(each.r_info);
                if (symbol == 0 || symbol >= known.size() || !allocates(known[symbol].st_name)) continue;
                const auto slot = words_at<std::uint64_t>(bias_ + each.r_offset, sizeof(std::uint64_t));
                if (!slot.empty()) use(slot.front());
            }
        }
    }

private:
    /// The dynamic linker has made addresses of what it needs, on most machines.
    std::uint64_t address(std::int64_t tag) const {
        const std::uint64_t value = tags_[static_cast<std::size_t>(tag)];
        return value < bias_ ? bias_ + value : value;
    }
    bool allocates(std::uint64_t name) const {
        const std::string_view names(names_.data(), names_.size()), text = names.substr(std::min(name, names.size()));
        const std::string_view symbol = text.substr(0, text.find('\0'));
        return symbol == "malloc" || symbol == "calloc" || symbol == "realloc";
    }

    std::uint64_t bias_;
    std::array<std::uint64_t, DT_JMPREL + 1> tags_{};
    std::vector<char> names_;
};

bool calls_other(const CodeMap& map, const CodeRegion& file, std::uint64_t begin, std::uint64_t end) {
    const auto image = ElfImage::from_file(file);
    const auto bias = image ? image->bias(file) : std::nullopt;
    if (!bias) return false;
    bool other = false;
    for (const Elf64_Phdr& segment : image->program_headers()) {
        if (segment.p_type != PT_DYNAMIC) continue;
        DynamicCalls(*bias, segment).each([&](std::uint64_t called) {
            const CodeRegion* const code = map.find(called);
            const bool is_ours = called >= begin && called < end;
            other = other || (code != nullptr && code->kind == RegionKind::file && !is_ours && code->path != file.path);
        });
    }
    return other;
}

}  // namespace

std::vector<std::string> files_with_other_malloc(const CodeMap& map, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::string> paths;
    for (const auto& region : map.regions()) {
        if (region->kind != RegionKind::file || std::ranges::find(paths, region->path) != paths.end()) continue;
        const std::string_view name = std::string_view(region->path).substr(region->path.rfind('/') + 1);
        if (!name.starts_with("libflameprobe") && calls_other(map, *region, begin, end)) paths.push_back(region->path);
    }
    return paths;
}

}  // namespace flameprobe
