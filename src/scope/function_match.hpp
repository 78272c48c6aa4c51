// Whether two addresses lie in one function.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "unwind/module_table.hpp"

namespace flameprobe {

class FunctionMatch {
public:
    virtual ~FunctionMatch() = default;
    virtual bool same_function(std::uint64_t a, std::uint64_t b) = 0;
};

/// By the unwind tables. Compilers move rarely executed parts of a function elsewhere (f.cold): such a part matches
/// every function of its module, because the tables do not say to which it belongs, and names may be stripped. One
/// thread only. Remembers what it found per address until the map changes.
class UnwindTableMatch final : public FunctionMatch {
public:
    /// `map` must outlive it.
    explicit UnwindTableMatch(const CodeMap& map) : map_(map) {}
    bool same_function(std::uint64_t a, std::uint64_t b) override;

private:
    struct Place {
        std::uint32_t region = no_region;
        CfiTables::Function function;
        static constexpr std::uint32_t no_region = ~std::uint32_t{0};
    };
    const Place& place(std::uint64_t address);

    const CodeMap& map_;
    ModuleTable modules_;
    std::uint64_t generation_ = 0;
    std::unordered_map<std::uint64_t, Place> places_;
};

}  // namespace flameprobe
