// Layouts of Rust's futures, from debug information (debug = true): what an async function or block has in each state.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "symbolize/debug_image.hpp"
#include "symbolize/dwarf_walk.hpp"
#include "symbolize/elf_file.hpp"

namespace flameprobe::async {

struct Type;

struct Member {
    std::string_view name;
    std::uint64_t offset = 0;
    Type* type = nullptr;
};

/// One state of an enumeration or of an async function.
struct Variant {
    Type* type = nullptr;
    std::uint64_t offset = 0;
    std::string file;  // of a suspended async function: where it awaits
    std::uint32_t line = 0;
};

struct Type {
    std::uint64_t die = 0;
    std::string name;  // with its namespaces, as rustc writes it
    int tag = 0;
    bool built = false;
    std::vector<Member> members;
    Type* target = nullptr;  // of a pointer
    bool is_fat = false;     // a pointer with a table of functions
    bool is_enum = false;
    std::uint64_t state_offset = 0, state_size = 0;
    std::map<std::uint64_t, Variant> variants;
    std::optional<Variant> other;  // for all other values
    bool is_coroutine = false;     // an async function or block
    bool is_future = false;
    enum class Holds : std::uint8_t { unknown, asked, no, yes } holds = Holds::unknown;

    const Variant* variant(std::uint64_t state) const {
        const auto at = variants.find(state);
        return at != variants.end() ? &at->second : other ? &*other : nullptr;
    }
    const Member* member(std::string_view wanted) const {
        for (const Member& each : members)
            if (each.name == wanted) return &each;
        return nullptr;
    }
};

/// One thread. Types are worked out when they are first asked for, and live as long as it.
class FutureTypes {
public:
    /// Reads the debug information of the file; throws std::bad_alloc. Without any it knows no type.
    explicit FutureTypes(const ElfFile& file);

    /// A type of task, by its table's `poll` (an address in the file): its cell (runtime/task/core.rs: Cell). Null if
    /// it is not known.
    Type* cell_of(std::uint64_t poll);
    /// The future of a task of smol's, by its table's `run` (an address in the file); null if it is not known.
    Type* future_of(std::uint64_t run);
    /// What a pointer with this table of functions (an address in the file) leads to; null if it is not known.
    Type* behind(std::uint64_t table);
    /// Makes the type's members known.
    void build(Type& type);
    /// Whether a future is in it: by value, or by a pointer that owns or borrows one.
    bool holds_future(Type& type, int depth = 0);

    bool has_any() const { return !cells_.empty() || has_runs_; }

private:
    /// A namespace or type around others.
    struct Scope {
        std::uint32_t parent;
        const char* name;
    };
    void read_unit(Dwarf_Die unit);
    void take_type(Dwarf_Die die, std::uint32_t scope);
    void take_function(Dwarf_Die die, std::uint32_t scope);
    bool take_run(const Dwarf_Die& die);
    void take_table(const Dwarf_Die& die);
    void find_futures();
    void read_variants(Dwarf_Die part, Type& type);
    void read_members(Dwarf_Die die, Type& type);
    std::string path_of(std::uint32_t scope) const;
    bool is_in(std::uint32_t scope, std::string_view path) const { return path_of(scope) == path; }
    Type* type_at(std::uint64_t die);
    Type* type_of(const Dwarf_Die& die);
    bool holds(Type& type, int depth);

    DebugImage image_;
    DwarfOwner dwarf_;
    std::deque<Scope> scopes_;
    std::unordered_map<std::uint64_t, std::uint32_t> scope_of_;  // by the offset of a type's DIE
    std::unordered_map<std::uint64_t, std::uint64_t> cells_;     // by the future's DIE
    std::unordered_map<std::uint64_t, std::uint64_t> polls_;     // by poll's address: the future's DIE
    std::unordered_map<std::uint64_t, std::uint64_t> poll_dies_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> poll_copies_;  // a DIE, and where the code of it is
    std::unordered_map<std::uint64_t, std::uint64_t> tables_;
    std::vector<std::uint64_t> pinned_;  // types of the first parameter of Future::poll
    std::unordered_set<std::string> futures_;
    bool has_runs_ = false;
    std::unordered_map<std::uint64_t, std::unique_ptr<Type>> types_;
};

/// Things that are shared: what is in them is not awaited by who has them.
bool is_shared(std::string_view type);

}  // namespace flameprobe::async
