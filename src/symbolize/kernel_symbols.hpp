// The running kernel's functions and those of its modules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

/// Of the 100,000 and more symbols of a kernel only those are kept that the asked addresses need, a few dozen mostly.
class KernelSymbols {
public:
    /// `addresses`: those that find() will be called with, in any order.
    explicit KernelSymbols(std::vector<std::uint64_t> addresses);

    /// Adds the symbols of the running kernel; none where kptr_restrict hides the addresses (all are zero then).
    void add_running();
    /// Adds lines as in /proc/kallsyms, `ADDRESS TYPE NAME [MODULE]`.
    void add(std::string_view lines);

    /// The function's name, followed by ` [module]` for a module's; empty if unknown, or not among the addresses.
    std::string find(std::uint64_t address) const;
    /// Whether no symbol lies at or before any of the addresses.
    bool empty() const;

private:
    /// The best symbol after the asked address before, up to `address`.
    struct Asked {
        std::uint64_t address, start = 0;  // start 0: no symbol
        bool global = false;
        std::string name, module;
    };
    void add_line(std::string_view line);

    std::vector<Asked> asked_;  // sorted by address
    std::size_t last_ = 0;      // the one that the last symbol belongs to: mostly the next one does, too
};

/// Whether this process may see the addresses of the kernel's functions.
bool kernel_symbols_are_visible();

}  // namespace flameprobe
