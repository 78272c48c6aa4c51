// A program on disk as a profile would see it mapped, and where in it the tests' marks are.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe::test {

constexpr std::uint64_t load_bias = 0x7f0012340000;
inline const std::string cxx_program = TEST_VARIANTS "/cxx-dwarf5";  // programs/calls.cpp

/// The mapping of the first executable segment, as the kernel would report it: whole pages, moved by the bias.
inline Mapping mapping_of(const ElfFile& file, std::uint64_t bias = load_bias) {
    Mapping mapping;
    mapping.kind = MappingKind::file;
    mapping.path = file.path();
    mapping.build_id = file.build_id();
    for (const ElfSegment& segment : file.segments()) {
        if (!segment.executable) continue;
        mapping.start = bias + segment.address / 4096 * 4096;
        mapping.file_offset = segment.offset / 4096 * 4096;
        mapping.size = (segment.offset - mapping.file_offset + segment.file_size + 4095) / 4096 * 4096;
        break;
    }
    return mapping;
}

/// The address of a global function of the running kernel; 0 where this user may not see it.
inline std::uint64_t kernel_function(const std::string& name) {
    std::ifstream file("/proc/kallsyms");
    for (std::string line; std::getline(file, line);)
        if (line.ends_with(" T " + name)) return std::stoull(line, nullptr, 16);
    return 0;
}

inline std::unique_ptr<ElfFile> open_elf(const std::string& path) {
    auto file = ElfFile::open(path);
    return file ? std::move(*file) : nullptr;
}

/// Addresses in the file's terms of all symbols whose name starts with `prefix`, by the rest of the name.
inline std::map<std::string, std::uint64_t> addresses_of(const std::string& path, std::string_view prefix) {
    std::map<std::string, std::uint64_t> found;
    const auto file = open_elf(path);
    if (!file) return found;
    SymbolTable table;
    table.add_table(*file, ".symtab");
    for (const ElfSymbol& symbol : table.all())
        if (symbol.name.starts_with(prefix)) found.emplace(symbol.name.substr(prefix.size()), symbol.start);
    return found;
}

/// Where the function that holds an address begins, by the symbols that are no marks.
inline std::uint64_t function_start(const std::string& path, std::uint64_t address) {
    const auto file = open_elf(path);
    if (!file) return 0;
    SymbolTable table;
    table.add_table(*file, ".symtab");
    std::uint64_t start = 0;
    for (const ElfSymbol& symbol : table.all())
        if (!symbol.name.starts_with("mark_") && symbol.start <= address && address < symbol.end) start = symbol.start;
    return start;
}

/// The name of a function that only the unwind tables know: [FILE+0xSTART].
inline std::string name_by_start(const std::string& path, std::uint64_t start) {
    char offset[24];
    std::snprintf(offset, sizeof offset, "+0x%" PRIx64 "]", start);
    return "[" + path.substr(path.rfind('/') + 1) + offset;
}

struct Named {
    SymbolChains chains;
    std::vector<std::string> warnings;
};

/// Names addresses, which are in the file's terms.
inline Named name_addresses(const std::string& path, const std::vector<std::uint64_t>& addresses,
                            const SymbolizeOptions& options) {
    Named named;
    const auto file = open_elf(path);
    if (!file) return named;
    std::vector<Location> locations;
    for (const std::uint64_t address : addresses) locations.push_back({0, address + load_bias});
    named.chains = symbolize({mapping_of(*file)}, locations, {}, options, named.warnings);
    return named;
}

/// The number of the one line in a source file that holds `text`; 0 if there is not exactly one.
inline std::uint32_t line_with(const std::string& path, const std::string& text) {
    std::ifstream file(path);
    std::uint32_t found = 0, number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.find(text) == line.npos) continue;
        if (found != 0) return 0;
        found = number;
    }
    return found;
}

inline std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace flameprobe::test
