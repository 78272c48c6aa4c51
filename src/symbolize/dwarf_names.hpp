// What functions are called, and where they are declared.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

/// What a function's DIE, and those that it refers to, say about its name.
struct DieName {
    const char* linkage = nullptr;  // mangled; null if the compiler gave none
    const char* plain = nullptr;    // as in the source, without the scopes around it
    Dwarf_Die named{};              // the DIE that has `plain`
    Dwarf_Word decl_line = 0;
};

/// Follows DW_AT_abstract_origin and DW_AT_specification from concrete and inlined functions to whatever names them.
DieName name_of(Dwarf_Die die);

/// The parameters of a function whose linkage name does not give them: `(int, Config const&)`, where a type without a
/// name is `...`.
std::string parameters_of(const Dwarf_Die& function);

struct FunctionName {
    std::string name;  // demangled or with its scopes; empty if the file has none
    std::uint32_t decl_line = 0;
};

/// For one unit and one thread: first `add` all functions, then `finish`, then `find` their names.
class FunctionNames {
public:
    void add(const Dwarf_Die& die);
    void finish();
    const FunctionName& find(const Dwarf_Die& die) const { return known_.find(die.addr)->second.result; }

private:
    struct Parts {
        DieName name;
        FunctionName result;
    };

    std::map<const void*, std::string> scopes() const;

    std::unordered_map<const void*, Parts> known_;  // by the DIE's place in memory
};

}  // namespace flameprobe
