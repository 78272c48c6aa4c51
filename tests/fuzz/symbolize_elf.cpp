// The input is an ELF file, which is mapped at 0 and whose code is named. A corpus to start from: the files that the
// unit tests build, BUILD/tests/unit/symbolize/variants.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "symbolize/symbolizer.hpp"

using namespace flameprobe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    SymbolizeOptions options;
    options.workers = 1;
    options.debug_directories.clear();
    options.read_image = [&](const Mapping&) {
        return std::optional(std::string(reinterpret_cast<const char*>(data), size));
    };
    Mapping mapping;
    mapping.kind = MappingKind::file;
    mapping.path = "/nowhere/fuzzed";
    mapping.size = 0x3000;
    std::vector<Location> locations;
    for (std::uint64_t address = 0; address < mapping.size; address += 32) locations.push_back({0, address});
    std::vector<std::string> warnings;
    for (const auto& chain : symbolize({mapping}, locations, {}, options, warnings)) {
        if (chain.empty()) std::abort();
        for (const Symbol& symbol : chain)
            if (symbol.name.empty()) std::abort();
    }
    return 0;
}
