// The input is a perf map and, at once, a kallsyms: text that names addresses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "symbolize/other_names.hpp"
#include "symbolize/perf_map.hpp"

using namespace flameprobe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const PerfMap map = PerfMap::parse(text);
    std::vector<std::uint64_t> addresses;
    for (std::uint64_t address = 1; address != 0; address *= 2) addresses.push_back(address - 1);
    KernelSymbols kernel(addresses);
    kernel.add(text);
    for (const std::uint64_t address : addresses)
        if (map.find(address).size() > size || kernel.find(address).size() > size + 1) std::abort();
    return 0;
}
