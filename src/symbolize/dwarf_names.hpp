// What functions are called, and where they are declared.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolize/die_name.hpp"

namespace flameprobe {

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
