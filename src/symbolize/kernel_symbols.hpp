// The running kernel's functions and those of its modules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

class KernelSymbols {
public:
    /// The symbols of the running kernel; none where kptr_restrict hides the addresses (all are zero then).
    static KernelSymbols running();
    /// `text`: lines as in /proc/kallsyms, `ADDRESS TYPE NAME [MODULE]`.
    static KernelSymbols parse(std::string text);

    bool empty() const { return entries_.empty(); }
    /// The function's name, followed by ` [module]` for a module's; empty if unknown.
    std::string find(std::uint64_t address) const;

private:
    struct Entry {
        std::uint64_t start;
        std::uint32_t name_at;
        std::uint16_t name_size, module_size;  // the module's name, in brackets, follows one byte behind the name
        bool global;
    };
    std::string text_;
    std::vector<Entry> entries_;  // sorted by start
};

}  // namespace flameprobe
