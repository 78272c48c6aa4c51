#include "unwind/cfi_tables.hpp"

#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstdlib>
#include <string_view>

#include "cpu/arch.hpp"
#include "unwind/frame_rule.hpp"

namespace flameprobe {
namespace {

/// Whether a section's name ends so, and the file has its content.
bool has_section(Elf* elf, std::string_view ending) {
    std::size_t names = 0;
    if (::elf_getshdrstrndx(elf, &names) != 0) return false;
    for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (::gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
        const char* const name = ::elf_strptr(elf, names, header.sh_name);
        if (name != nullptr && std::string_view(name).ends_with(ending)) return true;
    }
    return false;
}

}  // namespace

namespace {

/// The bytes belong to the image.
FunctionIndex index_of(const ElfImage& image) {
    std::size_t headers = 0;
    if (::elf_getphdrnum(image.elf(), &headers) != 0) return {};
    for (std::size_t i = 0; i < headers; ++i) {
        GElf_Phdr header;
        if (::gelf_getphdr(image.elf(), static_cast<int>(i), &header) == nullptr) break;
        if (header.p_type != PT_GNU_EH_FRAME) continue;
        const Elf_Data* const data = ::elf_getdata_rawchunk(image.elf(), static_cast<std::int64_t>(header.p_offset),
                                                            header.p_filesz, ELF_T_BYTE);
        if (data == nullptr) break;
        return {{static_cast<const std::byte*>(data->d_buf), data->d_size}, header.p_vaddr};
    }
    return {};
}

}  // namespace

CfiTables::CfiTables(ElfImage image)
    : image_(std::move(image)),
      index_(index_of(image_)),
      eh_frame_(::dwarf_getcfi_elf(image_.elf())),
      is_go_(has_section(image_.elf(), ".go.buildinfo")) {}

CfiTables::~CfiTables() {
    if (eh_frame_ != nullptr) ::dwarf_cfi_end(eh_frame_);
    if (dwarf_ != nullptr) ::dwarf_end(dwarf_);
}

Dwarf_CFI_s* CfiTables::debug_frame() {
    if (!debug_frame_sought_) {
        debug_frame_sought_ = true;
        // dwarf_begin_elf reads every debug section into memory, which may be gigabytes: only where it is worth it.
        if (has_section(image_.elf(), ".debug_frame")) dwarf_ = ::dwarf_begin_elf(image_.elf(), DWARF_C_READ, nullptr);
        if (dwarf_ != nullptr) debug_frame_ = ::dwarf_getcfi(dwarf_);
    }
    return debug_frame_;
}

UnwindRule CfiTables::rule(std::uint64_t address, std::uint64_t bias) {
    Dwarf_Frame* frame = nullptr;
    const bool found = (eh_frame_ != nullptr && ::dwarf_cfi_addrframe(eh_frame_, address - bias, &frame) == 0) ||
                       (debug_frame() != nullptr && ::dwarf_cfi_addrframe(debug_frame_, address - bias, &frame) == 0);
    if (!found) {
        UnwindRule none;
        none.address = address;
        none.kind = RuleKind::no_cfi;
        return none;
    }
    const UnwindRule rule = rule_of_frame(*frame, address);
    std::free(frame);  // as libdw.h says: "a malloc'd pointer"
    return rule;
}

CfiTables::Function CfiTables::function(std::uint64_t address, std::uint64_t bias) {
    Function found;
    found.start = index_.start_of(address - bias);
    found.end = index_.next_start(address - bias);
    found.described = rule(address, bias).kind != RuleKind::no_cfi;
    if (!found.described) return found;
    const UnwindRule first = rule(found.start + bias, bias);
    found.split_off =
        first.kind == RuleKind::step && !(first.base == RuleBase::sp && first.cfa_offset == Arch::entry_cfa);
    return found;
}

}  // namespace flameprobe
