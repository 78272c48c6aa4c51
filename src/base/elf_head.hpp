// What libelf reads first of an ELF file that is made in memory, and has sections only.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

struct NamedSection {
    std::string_view name;
    std::uint64_t offset = 0, size = 0;
};

/// The ELF header, the section headers, and the names, to be put at the beginning. What lies at the sections' offsets
/// is the caller's. Sections without bytes are left out.
inline std::string elf_head(std::span<const NamedSection> sections, std::uint16_t machine) {
    std::string names(1, '\0');
    std::vector<Elf64_Shdr> headers(1);
    const auto add = [&](const NamedSection& section, std::uint32_t type) {
        Elf64_Shdr& header = headers.emplace_back();
        header.sh_name = static_cast<std::uint32_t>(names.size());
        header.sh_type = type;
        header.sh_offset = section.offset;
        header.sh_size = section.size;
        header.sh_addralign = 1;
        names.append(section.name).push_back('\0');
    };
    for (const NamedSection& section : sections)
        if (section.size != 0) add(section, SHT_PROGBITS);
    add({".shstrtab", sizeof(Elf64_Ehdr) + (headers.size() + 1) * sizeof(Elf64_Shdr)}, SHT_STRTAB);
    headers.back().sh_size = names.size();

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof headers[0];
    header.e_shnum = static_cast<std::uint16_t>(headers.size());
    header.e_shstrndx = static_cast<std::uint16_t>(headers.size() - 1);
    std::string head(reinterpret_cast<const char*>(&header), sizeof header);
    head.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof headers[0]);
    return head + names;
}

}  // namespace flameprobe
