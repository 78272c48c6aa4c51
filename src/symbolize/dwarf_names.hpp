// What functions are called, and where they are declared.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "symbolize/dwarf_file.hpp"

namespace flameprobe {

struct FunctionName {
    std::string name;  // demangled or with its scopes; empty if the file has none
    std::uint32_t decl_line = 0;
};

/// Follows DW_AT_abstract_origin and DW_AT_specification from concrete and inlined functions to whatever names them.
/// One per unit that is worked on, for one thread: first `add` all, then `finish`, then `find` what was added.
class FunctionNames {
public:
    void add(const DieReference& die);
    void finish();
    const FunctionName& find(const DieReference& die) const;

private:
    struct Rotation {
        std::string_view linkage;  // mangled; empty if the compiler gave none
        std::string_view plain;    // as in the source, without the scopes around it
        DieReference named;        // where `plain` stands
        FunctionName result;
    };
    using Key = std::pair<const DwarfFile*, std::uint64_t>;

    void collect(const DieReference& die, Rotation& parts, int depth) const;
    std::map<Key, std::string> scopes() const;

    std::map<Key, Rotation> known_;
};

}  // namespace flameprobe
