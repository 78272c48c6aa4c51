#include "unwind/frame_sections.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/debug_link.hpp"

namespace flameprobe {
namespace {

constexpr std::uint64_t page_bytes = 4096;
// Address space: pages that are not read cost nothing.
constexpr std::uint64_t most_table_bytes = std::uint64_t{4} << 30;
constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;  // of a section that is read as a whole

/// The segment that holds a virtual address of the file.
const Elf64_Phdr* segment_of(const ElfImage& image, std::uint64_t address) {
    const auto holds = [&](const Elf64_Phdr& header) {
        return header.p_type == PT_LOAD && address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz;
    };
    const auto found = std::ranges::find_if(image.program_headers(), holds);
    return found == image.program_headers().end() ? nullptr : &*found;
}

/// Where .eh_frame begins, as .eh_frame_hdr says behind its version and three encodings; 0 if it does not.
std::uint64_t frames_of(const ElfImage& image, const Elf64_Phdr& index) {
    std::array<std::byte, 12> start{};
    if (index.p_filesz < start.size() || image.read(index.p_offset, start) != start.size()) return 0;
    const CfiSection header{start, index.p_vaddr};
    ByteReader in(start, 4);
    return header.pointer(in, start, std::to_integer<unsigned>(start[1])).value_or(0);
}

}  // namespace

FilePages::FilePages(const ElfImage& image, std::uint64_t offset, std::uint64_t size)
    : image_(&image), offset_(offset), bytes_(MemoryMap::reserve(size)), is_read_(size / page_bytes + 1) {}

bool FilePages::want(std::uint64_t at, std::uint64_t size) {
    if (at > bytes_.size() || size > bytes_.size() - at) return false;
    const std::uint64_t end = (at + size + page_bytes - 1) / page_bytes;
    for (std::uint64_t number = at / page_bytes; number < end; ++number) {
        if (is_read_[number]) continue;
        std::uint64_t behind = number + 1;
        while (behind < end && !is_read_[behind]) ++behind;
        const std::uint64_t from = number * page_bytes,
                            to = std::min<std::uint64_t>(behind * page_bytes, bytes_.size());
        const auto wanted = bytes_.bytes().subspan(from, to - from);
        if (image_->read(offset_ + from, wanted) != wanted.size()) return false;
        for (; number < behind; ++number) is_read_[number] = true;
    }
    return true;
}

CfiList::CfiList(const CfiSection& section, bool ends) {
    std::optional<CfiCommon> common;  // most descriptions have the one of the description before
    std::uint64_t common_at = ~std::uint64_t{0};
    for (std::uint64_t at = 0; at < section.bytes.size();) {
        const auto header = CfiHeader::at(section, at);
        if (!header || (ends && header->kind == CfiHeader::Kind::terminator)) break;
        if (header->kind == CfiHeader::Kind::description) {
            if (std::exchange(common_at, header->common) != header->common)
                common = cfi_common_at(section, header->common);
            const auto entry = common ? cfi_entry(section, *header, *common) : std::nullopt;
            if (entry && entry->start < entry->end) entries_.push_back({entry->start, at});
        }
        at = header->end;
    }
    std::ranges::stable_sort(entries_, {}, &Entry::start);
    const auto [first, last] = std::ranges::unique(entries_, {}, &Entry::start);
    entries_.erase(first, last);
}

std::vector<CfiList::Entry>::const_iterator CfiList::after(std::uint64_t address) const {
    return std::ranges::upper_bound(entries_, address, {}, &Entry::start);
}
std::optional<CfiEntry> CfiList::entry_of(const CfiSection& section, std::uint64_t address) const {
    const auto next = after(address);
    const auto entry = next == entries_.begin() ? std::nullopt : cfi_entry_at(section, std::prev(next)->offset);
    return entry && entry->covers(address) ? entry : std::nullopt;
}
std::uint64_t CfiList::start_of(std::uint64_t address) const {
    const auto next = after(address);
    return next == entries_.begin() ? 0 : std::prev(next)->start;
}
std::uint64_t CfiList::next_start(std::uint64_t address) const {
    const auto next = after(address);
    return next == entries_.end() ? 0 : next->start;
}

EhFrame::EhFrame(const ElfImage& image) {
    const auto& headers = image.program_headers();
    const auto index = std::ranges::find(headers, PT_GNU_EH_FRAME, &Elf64_Phdr::p_type);
    const std::uint64_t frames = index == headers.end() ? 0 : frames_of(image, *index);
    const Elf64_Phdr* const load = frames == 0 ? nullptr : segment_of(image, frames);
    // As linkers lay them out, the two lie in one segment.
    if (load != nullptr && index->p_vaddr >= load->p_vaddr && index->p_vaddr - load->p_vaddr < load->p_filesz &&
        index->p_filesz <= load->p_filesz - (index->p_vaddr - load->p_vaddr)) {
        const std::uint64_t first = (std::min(index->p_vaddr, frames) - load->p_vaddr) / page_bytes * page_bytes;
        if (load->p_filesz - first <= most_table_bytes) {
            pages_ = FilePages(image, load->p_offset + first, load->p_filesz - first);
            section_ = {pages_.bytes(), load->p_vaddr + first};
            const std::uint64_t at = index->p_vaddr - section_.address;
            if (pages_.want(at, index->p_filesz))
                index_ = FunctionIndex(section_.bytes.subspan(at, index->p_filesz), index->p_vaddr);
        }
    }
    if (index_.size() == 0) read_whole(image, frames);
}

void EhFrame::read_whole(const ElfImage& image, std::uint64_t frames) {
    std::uint64_t offset = 0, size = 0, address = frames;
    const auto section = image.section(".eh_frame");
    if (section) {
        offset = section->sh_offset, size = section->sh_size, address = section->sh_addr;
    } else if (const Elf64_Phdr* const load = frames == 0 ? nullptr : segment_of(image, frames)) {
        offset = load->p_offset + (frames - load->p_vaddr), size = load->p_filesz - (frames - load->p_vaddr);
    }
    if (size == 0 || size > most_bytes) return;
    pages_ = FilePages(image, offset, size);
    if (!pages_.want(0, size)) return;
    section_ = {pages_.bytes(), address};
    list_ = CfiList(section_, !section);
}

/// Reads an entry, whose length stands before it.
bool EhFrame::want_entry(std::uint64_t offset) {
    constexpr std::uint64_t head = 20;  // an extended length, and an identifier
    const std::uint64_t size = section_.bytes.size();
    if (offset > size || !pages_.want(offset, std::min(head, size - offset))) return false;
    ByteReader in(section_.bytes, offset);
    const std::uint64_t length = head + std::min(in.u32(), CfiHeader::longest);
    return in.ok() && pages_.want(offset, std::min(length, size - offset));
}

std::optional<CfiEntry> EhFrame::entry_of(std::uint64_t address) {
    const auto found = index_.entry_of(address);
    if (!found) return list_.entry_of(section_, address);
    const std::uint64_t offset = found->description - section_.address;
    const auto header = want_entry(offset) ? CfiHeader::at(section_, offset) : std::nullopt;
    if (!header || !want_entry(header->common)) return std::nullopt;
    auto entry = cfi_entry(section_, *header);
    // LLVM's BOLT leaves empty descriptions, to which the table leads; the function's own comes next.
    if (entry && entry->start == entry->end && want_entry(header->end)) entry = cfi_entry_at(section_, header->end);
    return entry && entry->covers(address) ? entry : std::nullopt;
}

namespace {

constexpr char section_name[] = ".debug_frame";

/// The section's bytes; empty if there are none, or if they are compressed (docs/decisions/0016).
MemoryMap contents(const ElfImage& image, const std::string& name) {
    const auto section = image.section(name);
    if (!section || section->sh_size == 0 || section->sh_size > most_bytes || (section->sh_flags & SHF_COMPRESSED) != 0)
        return {};
    MemoryMap bytes = MemoryMap::reserve(section->sh_size);
    return bytes && image.read(section->sh_offset, bytes.bytes()) == bytes.size() ? std::move(bytes) : MemoryMap();
}

DebugLink debug_link(const ElfImage& image) {
    const MemoryMap bytes = contents(image, ".gnu_debuglink");
    return bytes ? DebugLink::in({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) : DebugLink();
}

std::optional<ElfImage> open(const std::string& path, const std::string& build_id) {
    CodeRegion file;
    file.kind = RegionKind::file;
    file.path = path;
    file.build_id = build_id;
    auto image = ElfImage::from_file(file);
    if (image && !image->section(section_name)) image.reset();
    return image;
}

}  // namespace

DebugFrame::DebugFrame(const ElfImage& image, const std::string& path) {
    const std::vector<std::string> directories = {"/usr/lib/debug"};
    if (read(image)) return;
    const std::string build_id = image.build_id();
    if (build_id.size() > 1) {
        for (const std::string& directory : directories)
            if (const auto found = open(debug_path_by_id(directory, build_id), build_id); found && read(*found)) return;
    }
    const DebugLink link = debug_link(image);
    for (const std::string& candidate : link.places(path, directories)) {
        const auto found = open(candidate, build_id);
        const auto read_found = [&](std::uint64_t at, std::span<std::byte> out) { return found->read(at, out); };
        if (found && (!build_id.empty() || link.leads_to(read_found)) && read(*found)) return;
    }
}

bool DebugFrame::read(const ElfImage& image) {
    bytes_ = contents(image, section_name);
    section_ = {bytes_.bytes(), 0, true};
    list_ = CfiList(section_, false);
    return static_cast<bool>(bytes_);
}

}  // namespace flameprobe
