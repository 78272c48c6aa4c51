#include "symbolize/elf_file.hpp"

#include <algorithm>

#include "base/byte_reader.hpp"

namespace flameprobe {

namespace {

template <class T>
bool copy_at(Bytes bytes, std::uint64_t offset, T& out) {
    if (offset > bytes.size() || sizeof out > bytes.size() - offset) return false;
    std::memcpy(&out, bytes.data() + offset, sizeof out);
    return true;
}

bool is_ours(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB;
}

struct Dynamic {
    std::uint64_t symbols = 0, strings = 0, strings_size = 0;
};

Dynamic read_dynamic(Bytes table) {
    Dynamic dynamic;
    for (ByteReader cursor(table); cursor.remaining() >= sizeof(Elf64_Dyn);) {
        const std::uint64_t tag = cursor.u64(), value = cursor.u64();
        if (tag == DT_NULL) break;
        if (tag == DT_SYMTAB) dynamic.symbols = value;
        if (tag == DT_STRTAB) dynamic.strings = value;
        if (tag == DT_STRSZ) dynamic.strings_size = value;
    }
    return dynamic;
}

std::optional<std::uint64_t> offset_of(const std::vector<ElfSegment>& segments, std::uint64_t address) {
    for (const ElfSegment& segment : segments)
        if (address >= segment.address && address - segment.address < segment.file_size)
            return address - segment.address + segment.offset;
    return std::nullopt;
}

/// For files without section headers: images copied from memory, and programs stripped of everything. `.dynsym`,
/// `.dynstr` (linked to it) and `.text`, found by PT_DYNAMIC, at `offset` with `size` bytes, and the segments. Empty if
/// these do not tell where they are.
std::vector<ElfSection> sections_from_dynamic(const FileBytes& bytes, const std::vector<ElfSegment>& segments,
                                              std::uint64_t offset, std::uint64_t size) {
    const Dynamic dynamic = read_dynamic(bytes.view(offset, size));
    const auto symbols = offset_of(segments, dynamic.symbols), strings = offset_of(segments, dynamic.strings);
    // Only hash tables tell the number of symbols; but linkers put the strings right behind the symbols.
    if (!symbols || !strings || *strings <= *symbols) return {};
    std::vector<ElfSection> sections(2);
    sections[0] = {".dynsym", SHT_DYNSYM, SHF_ALLOC, dynamic.symbols, *symbols, *strings - *symbols, 1};
    sections[1] = {".dynstr", SHT_STRTAB, SHF_ALLOC, dynamic.strings, *strings, dynamic.strings_size, 0};
    for (const ElfSegment& segment : segments)
        if (segment.executable)
            sections.push_back({".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, segment.address, segment.offset,
                                segment.file_size, 0});
    return sections;
}

}  // namespace

Result<std::unique_ptr<ElfFile>> ElfFile::open(const std::string& path, int root) {
    auto bytes = FileBytes::open(path, root);
    if (!bytes) return bytes.error();
    return parse(std::move(*bytes), path);
}

Result<std::unique_ptr<ElfFile>> ElfFile::parse(std::unique_ptr<FileBytes> bytes, std::string name) {
    auto file = std::make_unique<ElfFile>();
    file->path_ = std::move(name);
    file->bytes_ = std::move(bytes);
    if (auto read = file->read_headers(); !read) return read.error();
    return file;
}

Result<void> ElfFile::read_headers() {
    Elf64_Ehdr header{};
    if (!copy_at(bytes_->view(0, sizeof header), 0, header) || !is_ours(header))
        return Error{path_ + ": not a 64-bit little-endian ELF file"};
    machine_ = header.e_machine;
    if (header.e_phentsize == sizeof(Elf64_Phdr)) read_segments(header.e_phoff, header.e_phnum);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff == 0) {
        sections_ = sections_from_dynamic(*bytes_, segments_, dynamic_at_, dynamic_size_);
        return {};
    }

    // gABI, "ELF header": counts that do not fit stand in section header 0.
    Elf64_Shdr first{};
    if (!copy_at(bytes_->view(header.e_shoff, sizeof first), 0, first)) return {};
    const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
    read_sections(header.e_shoff, count, header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link);
    return {};
}

void ElfFile::read_segments(std::uint64_t offset, std::uint64_t count) {
    const Bytes table = bytes_->view(offset, count * sizeof(Elf64_Phdr));
    Elf64_Phdr header{};
    for (std::uint64_t at = 0; copy_at(table, at, header); at += sizeof header) {
        if (header.p_type == PT_NOTE) read_build_id(bytes_->view(header.p_offset, header.p_filesz));
        if (header.p_type == PT_DYNAMIC) {
            dynamic_at_ = header.p_offset;
            dynamic_size_ = header.p_filesz;
        }
        const ElfSegment segment{header.p_vaddr, header.p_offset, header.p_filesz, (header.p_flags & PF_X) != 0,
                                 header.p_align};
        if (header.p_type == PT_GNU_EH_FRAME) frame_index_ = segment;
        if (header.p_type == PT_LOAD) segments_.push_back(segment);
    }
}

void ElfFile::read_sections(std::uint64_t offset, std::uint64_t count, std::uint64_t names_index) {
    if (count > bytes_->size() / sizeof(Elf64_Shdr)) return;
    const Bytes table = bytes_->view(offset, count * sizeof(Elf64_Shdr));
    Elf64_Shdr header{};
    Bytes names;
    if (copy_at(table, names_index * sizeof header, header)) names = bytes_->view(header.sh_offset, header.sh_size);
    sections_.reserve(count);
    for (std::uint64_t at = 0; copy_at(table, at, header); at += sizeof header)
        sections_.push_back({ByteReader(names, header.sh_name).text(), header.sh_type, header.sh_flags, header.sh_addr,
                             header.sh_offset, header.sh_size, header.sh_link});
    // Separate debug files keep their notes as a section, while their segments are empty.
    for (const ElfSection& section : sections_)
        if (build_id_.empty() && section.type == SHT_NOTE) read_build_id(bytes_->view(section.offset, section.size));
}

void ElfFile::read_build_id(Bytes notes) {
    for (ByteReader cursor(notes); build_id_.empty() && cursor.remaining() >= sizeof(Elf64_Nhdr);) {
        const std::uint64_t name_size = cursor.u32(), size = cursor.u32(), type = cursor.u32();
        const std::uint64_t name_at = cursor.position(), at = name_at + (name_size + 3) / 4 * 4;
        cursor.seek(at);
        if (size > cursor.remaining()) return;
        if (type == NT_GNU_BUILD_ID && as_text(notes).substr(name_at, name_size) == std::string_view("GNU\0", 4))
            build_id_ = as_text(notes).substr(at, size);
        cursor.skip(std::min((size + 3) / 4 * 4, cursor.remaining()));
    }
}

const ElfSection* ElfFile::find(std::string_view name) const {
    const auto found = std::ranges::find_if(sections_, [&](const auto& s) { return s.name == name; });
    return found == sections_.end() ? nullptr : &*found;
}

Bytes ElfFile::contents(const ElfSection& section) const {
    if (section.type == SHT_NOBITS) return {};
    const std::lock_guard lock(mutex_);
    auto [known, is_new] = contents_.try_emplace(&section);
    if (!is_new) return known->second;
    const Bytes raw = bytes_->view(section.offset, section.size);
    if ((section.flags & SHF_COMPRESSED) == 0) return known->second = raw;
    decompressed_.push_back(decompress_section(raw));
    return known->second = std::as_bytes(std::span(decompressed_.back()));
}

Bytes ElfFile::contents(std::string_view name) const {
    if (const ElfSection* section = find(name)) return contents(*section);
    return {};
}

std::size_t ElfFile::read(const ElfSection& section, std::uint64_t offset, std::span<std::byte> out) const {
    if ((section.flags & SHF_COMPRESSED) != 0) {
        const Bytes all = contents(section);
        const Bytes rest = offset < all.size() ? all.subspan(offset) : Bytes{};
        const Bytes part = rest.first(std::min(out.size(), rest.size()));
        std::ranges::copy(part, out.begin());
        return part.size();
    }
    if (section.type == SHT_NOBITS || offset >= section.size || !bytes_->holds(section.offset, section.size)) return 0;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), section.size - offset));
    return bytes_->read_into(section.offset + offset, out.first(size)) ? size : 0;
}

std::string_view ElfFile::text(const ElfSection& names, std::uint64_t offset) const {
    if (names.type == SHT_NOBITS || offset >= names.size) return {};
    if ((names.flags & SHF_COMPRESSED) != 0) return ByteReader(contents(names), offset).text();
    return bytes_->text(names.offset + offset, names.size - offset);
}

std::uint64_t ElfFile::contents_size(std::string_view name) const {
    const ElfSection* section = find(name);
    if (section == nullptr || section->type == SHT_NOBITS) return 0;
    if ((section->flags & SHF_COMPRESSED) == 0) return section->size;
    Elf64_Chdr header{};
    std::byte bytes[sizeof header];
    if (section->size < sizeof header || !bytes_->read_into(section->offset, bytes)) return 0;
    copy_at(bytes, 0, header);
    return header.ch_size;
}

std::optional<std::uint64_t> ElfFile::address_of(std::uint64_t file_offset) const {
    for (const ElfSegment& segment : segments_)
        if (segment.executable && file_offset >= segment.offset && file_offset - segment.offset < segment.file_size)
            return file_offset - segment.offset + segment.address;
    return std::nullopt;
}

std::optional<std::uint64_t> ElfFile::offset_of(std::uint64_t address) const {
    return flameprobe::offset_of(segments_, address);
}

const ElfSection* ElfFile::code_section(std::uint64_t address) const {
    for (const ElfSection& section : sections_)
        if ((section.flags & SHF_EXECINSTR) != 0 && address >= section.address &&
            address - section.address < section.size)
            return &section;
    return nullptr;
}

}  // namespace flameprobe
