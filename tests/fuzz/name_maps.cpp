// The input is a perf map and, at once, a kallsyms: text that names addresses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "symbolize/kernel_symbols.hpp"
#include "symbolize/perf_map.hpp"

using namespace flameprobe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const PerfMap map = PerfMap::parse(text);
    const KernelSymbols kernel = KernelSymbols::parse(text);
    for (std::uint64_t address = 1; address != 0; address *= 2) {
        if (map.find(address - 1).size() > size || kernel.find(address - 1).size() > size + 1) std::abort();
    }
    return 0;
}
