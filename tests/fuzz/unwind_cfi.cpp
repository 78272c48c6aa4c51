// The fuzzer's bytes as call frame instructions, as .eh_frame, or as a whole ELF file; rules are asked for all over it.
#include <elf.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "unwind/cfi_tables.hpp"

using namespace flameprobe;

namespace {

constexpr std::uint64_t header_at = 0x100, header_size = 20, frames_at = header_at + 24;

MemoryMap writable(std::size_t size) {
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? MemoryMap() : MemoryMap(memory, size);
}

void append(std::vector<std::uint8_t>& out, std::initializer_list<int> bytes) {
    for (const int byte : bytes) out.push_back(static_cast<std::uint8_t>(byte));
}
/// Pads an entry to eight bytes with DW_CFA_nop and writes its length (LSB 5.0, section 10.6.1.1).
void append_entry(std::vector<std::uint8_t>& out, std::vector<std::uint8_t> entry) {
    while (entry.size() % 8 != 4) entry.push_back(0);
    const auto length = static_cast<std::uint32_t>(entry.size());
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&length);
    out.insert(out.end(), bytes, bytes + sizeof length);
    out.insert(out.end(), entry.begin(), entry.end());
}
/// One CIE and one FDE for the addresses below 4096, with the given instructions.
std::vector<std::uint8_t> frames_of(const std::uint8_t* instructions, std::size_t size, std::uint32_t& description) {
    const std::size_t initial = size / 3;
    std::vector<std::uint8_t> out, cie, fde;
    // id 0, version 1, "zR", code alignment 1, data alignment -8, return address in 16, pointers in 8 bytes
    append(cie, {0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 4, 0x0c, 7, 8, 0x90, 1});
    cie.insert(cie.end(), instructions, instructions + initial);
    append_entry(out, cie);
    description = static_cast<std::uint32_t>(out.size());
    const auto back = static_cast<int>(out.size()) + 4;
    append(fde, {back & 255, back >> 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0});
    fde.insert(fde.end(), instructions + initial, instructions + size);
    append_entry(out, fde);
    append(out, {0, 0, 0, 0});
    return out;
}

/// ELF header, program headers, an .eh_frame_hdr, and `frames` behind it. With a search table only the pages are read
/// that it leads to: one entry for address 0, and for its FDE a place in `frames`.
MemoryMap file_with_frames(const std::uint8_t* frames, std::size_t size, bool has_table, std::uint32_t description) {
    MemoryMap file = writable(frames_at + size + 4);
    if (!file) return file;
    Elf64_Ehdr elf{};
    std::memcpy(elf.e_ident, "\177ELF\2\1\1", 7);
    elf.e_type = ET_DYN;
    elf.e_machine = EM_X86_64;
    elf.e_version = EV_CURRENT;
    elf.e_phoff = sizeof elf;
    elf.e_ehsize = sizeof elf;
    elf.e_phentsize = sizeof(Elf64_Phdr);
    elf.e_phnum = 2;
    Elf64_Phdr program[2]{};
    program[0] = {PT_LOAD, PF_R | PF_X, 0, 0, 0, file.size(), file.size(), 4096};
    program[1] = {PT_GNU_EH_FRAME, PF_R, header_at, header_at, header_at, header_size, header_size, 4};
    // version 1; .eh_frame's place relative to here in 4 bytes; a count in 4 bytes and a table of pairs of 4 bytes
    // relative to the header, or neither (DW_EH_PE_omit)
    std::uint8_t header[header_size] = {1, 0x1b, 0xff, 0xff, frames_at - header_at - 4, 0, 0, 0, 1};
    if (has_table) {
        header[2] = 0x03;
        header[3] = 0x3b;
        const std::int32_t entry[2] = {-static_cast<std::int32_t>(header_at),
                                       static_cast<std::int32_t>(frames_at - header_at + description)};
        std::memcpy(header + 12, entry, sizeof entry);
    }
    std::memcpy(file.data(), &elf, sizeof elf);
    std::memcpy(file.data() + sizeof elf, program, sizeof program);
    std::memcpy(file.data() + header_at, header, sizeof header);
    std::memcpy(file.data() + frames_at, frames, size);
    return file;
}

void ask(MemoryMap file) {
    const std::size_t size = file.size();
    auto image = ElfImage::from_bytes(std::move(file));
    if (!image) return;
    CodeRegion region;
    region.kind = RegionKind::file;
    region.end = size;
    static_cast<void>(image->build_id());
    const auto bias = image->bias(region);
    CfiTables tables(std::move(*image));
    for (std::uint64_t address = 0; address < 4096; address += 61) {
        tables.rule(address, bias.value_or(0));
        tables.function(address, bias.value_or(0));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    if (data[0] == 0x7f) {
        MemoryMap file = writable(size);
        if (file) std::memcpy(file.data(), data, size);
        ask(std::move(file));
        return 0;
    }
    const bool has_table = (data[0] & 2) != 0;
    if (data[0] % 2 == 0) {
        ask(file_with_frames(data + 1, size - 1, has_table, data[0] / 4));
    } else if (size < 16384) {
        std::uint32_t description = 0;
        const auto frames = frames_of(data + 1, size - 1, description);
        ask(file_with_frames(frames.data(), frames.size(), has_table, description));
    }
    return 0;
}
