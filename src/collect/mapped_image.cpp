#include "collect/mapped_image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/base_name.hpp"
#include "base/proc_maps.hpp"
#include "base/self_memory.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t largest_copy = std::uint64_t{256} << 20;

/// `lines` of one loading of a file, the first with offset 0.
struct LoadedFile {
    std::string path;
    std::vector<MapsLine> lines;

    bool holds(std::uint64_t address) const {
        return std::any_of(lines.begin(), lines.end(),
                           [address](const MapsLine& line) { return line.start <= address && address < line.end; });
    }
};

std::vector<LoadedFile> loaded_files() {
    std::vector<LoadedFile> files;
    const auto maps = read_proc_maps();
    if (!maps) return files;
    for (MapsLine line : maps->lines) {
        if (line.inode == 0) continue;
        if (files.empty() || files.back().lines.back().inode != line.inode || line.offset == 0)
            files.push_back({std::string(without_deleted(line.path)), {}});
        line.path = {};  // it points into the text, which ends with this function
        files.back().lines.push_back(line);
    }
    return files;
}

std::vector<MapsLine> lines_around(std::uint64_t address, std::string_view path) {
    for (const LoadedFile& file : loaded_files())
        if (file.path == path && file.holds(address)) return file.lines;
    return {};
}

/// The dynamic linker has added the load address to pointers in PT_DYNAMIC; in a file they stand without it.
void unrelocate_dynamic(std::string& image, std::uint64_t base) {
    Elf64_Ehdr header{};
    if (image.size() < sizeof header) return;
    std::memcpy(&header, image.data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        const std::uint64_t at = header.e_phoff + std::uint64_t{i} * sizeof segment;
        if (at > image.size() || sizeof segment > image.size() - at) return;
        std::memcpy(&segment, image.data() + at, sizeof segment);
        if (segment.p_type != PT_DYNAMIC || segment.p_offset > image.size()) continue;
        const std::uint64_t size = std::min(segment.p_filesz, image.size() - segment.p_offset);
        for (std::uint64_t entry = 0; entry + sizeof(Elf64_Dyn) <= size; entry += sizeof(Elf64_Dyn)) {
            Elf64_Dyn dynamic{};
            std::memcpy(&dynamic, image.data() + segment.p_offset + entry, sizeof dynamic);
            const bool pointer = dynamic.d_tag == DT_SYMTAB || dynamic.d_tag == DT_STRTAB;
            if (pointer && dynamic.d_un.d_ptr >= base) dynamic.d_un.d_ptr -= base;
            std::memcpy(image.data() + segment.p_offset + entry, &dynamic, sizeof dynamic);
        }
    }
}

std::optional<std::string> copy_lines(const std::vector<MapsLine>& lines) {
    if (lines.empty() || lines[0].offset != 0) return std::nullopt;
    std::string image;
    for (const MapsLine& line : lines) {
        const std::uint64_t size = line.end - line.start;
        if (!line.readable || size > largest_copy || line.offset > largest_copy) continue;
        image.resize(std::max<std::size_t>(image.size(), line.offset + size));
        read_self(line.start, std::as_writable_bytes(std::span(image).subspan(line.offset, size)));
    }
    unrelocate_dynamic(image, lines[0].start);
    // Section headers stand at the end of the file, which is not mapped as a whole.
    Elf64_Ehdr header{};
    if (image.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, image.data(), sizeof header);
    header.e_shoff = 0;
    header.e_shnum = 0;
    std::memcpy(image.data(), &header, sizeof header);
    return image;
}

}  // namespace

std::optional<std::string> copy_mapped_parts(std::uint64_t address, std::string_view path) {
    const auto lines = lines_around(address, path);
    return lines.empty() ? std::nullopt : copy_lines(lines);
}

}  // namespace flameprobe
