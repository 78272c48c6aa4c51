// Names for what is in no ELF file: notes, scopes, the kernel, the vdso, code made at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/kernel_symbols.hpp"
#include "symbolize/perf_map.hpp"
#include "symbolize/symbolizer.hpp"
#include "symbolize/vdso_symbols.hpp"

namespace flameprobe {

/// Reads what it needs when it is first asked for; the kernel's symbols, which take long, in prepare(). One thread at a
/// time.
class OtherNames {
public:
    OtherNames(const std::vector<std::string>& strings, const SymbolizeOptions& options)
        : strings_(strings), options_(options) {}

    /// Reads the kernel's symbols, of which the kernel is slow to tell, if a location needs them.
    void prepare(const std::vector<Mapping>& mappings, const std::vector<Location>& locations);
    /// Never empty. For kind `file` it looks at the perf map only (some JITs map a file), and gives `[unknown in FILE]`
    /// where that knows nothing.
    std::string name(const Mapping& mapping, std::uint64_t address);

private:
    std::string kernel_name(std::uint64_t address);
    std::string vdso_name(const Mapping& mapping, std::uint64_t address);
    std::string jit_name(std::uint64_t address);

    const std::vector<std::string>& strings_;
    const SymbolizeOptions& options_;
    std::unique_ptr<KernelSymbols> kernel_;
    std::unique_ptr<VdsoSymbols> vdso_;
    std::unique_ptr<PerfMap> perf_map_;
};

}  // namespace flameprobe
