// Names addresses of one ELF file as a profile's would be named: for measuring, and for comparing with other
// symbolizers.
//   symbolize_addresses FILE < ADDRESSES     prints for each address (hex, in the file's own terms) a line with it,
//   then
//                                            FUNCTION and FILE:LINE lines, innermost first, as `addr2line -a -i -f`
//                                            does
//   symbolize_addresses FILE --read ...      reads files onto the heap, as inside a host, instead of mapping them
//   symbolize_addresses FILE --workers N ... with N threads
//   symbolize_addresses FILE --debuginfod .. asks the servers of DEBUGINFOD_URLS
//   symbolize_addresses FILE --quiet ...     prints nothing but the warnings
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "symbolize/elf_file.hpp"
#include "symbolize/symbolizer.hpp"

using namespace flameprobe;

namespace {

/// One mapping per executable segment, where a loader that loads at 0 would put it.
std::vector<Mapping> mappings_of(const ElfFile& file) {
    std::vector<Mapping> mappings;
    for (const ElfSegment& segment : file.segments()) {
        if (!segment.executable) continue;
        Mapping mapping;
        mapping.kind = MappingKind::file;
        mapping.start = segment.address;
        mapping.size = segment.file_size;
        mapping.file_offset = segment.offset;
        mapping.path = file.path();
        mapping.build_id = file.build_id();
        mappings.push_back(mapping);
    }
    return mappings;
}

MappingId mapping_of(const std::vector<Mapping>& mappings, std::uint64_t address) {
    for (MappingId id = 0; id < mappings.size(); ++id)
        if (address - mappings[id].start < mappings[id].size) return id;
    return 0;
}

void print(std::uint64_t address, const std::vector<Symbol>& chain) {
    std::printf("0x%016" PRIx64 "\n", address);
    for (const Symbol& symbol : chain)
        std::printf("%s\n%s:%u\n", symbol.name.c_str(), symbol.file.empty() ? "??" : symbol.file.c_str(), symbol.line);
}

}  // namespace

int main(int argc, char** argv) {
    SymbolizeOptions options;
    std::string path;
    bool quiet = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument == "--quiet")
            quiet = true;
        else if (argument == "--debuginfod")
            options.debuginfod_until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
        else if (argument == "--workers" && i + 1 < argc)
            options.workers = static_cast<unsigned>(std::atoi(argv[++i]));
        else
            path = argument;
    }
    const auto file = ElfFile::open(path);
    if (!file) {
        std::fprintf(stderr, "%s\n", file.error().message.c_str());
        return 1;
    }
    const std::vector<Mapping> mappings = mappings_of(**file);
    std::vector<Location> locations;
    for (std::string line; std::getline(std::cin, line);) {
        const std::uint64_t address = std::strtoull(line.c_str(), nullptr, 16);
        locations.push_back({mapping_of(mappings, address), address});
    }
    std::vector<std::string> warnings;
    const SymbolChains chains = symbolize(mappings, locations, {}, options, warnings);
    for (const std::string& warning : warnings) std::fprintf(stderr, "%s\n", warning.c_str());
    if (!quiet)
        for (LocationId id = 0; id < locations.size(); ++id) print(locations[id].address, chains[id]);
    return 0;
}
