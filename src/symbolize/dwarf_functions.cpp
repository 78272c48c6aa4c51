#include "symbolize/dwarf_functions.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/byte_reader.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t most_steps = 256;  // deeper inlining is cut: no compiler does it, hostile files may
// Ranges, and addresses in them, that are looked at in one unit: bounds the time on hostile files.
constexpr std::uint64_t most_function_matches = 1 << 26;
constexpr unsigned dies_between_looks_at_the_clock = 1 << 14;

/// GCC puts the code of a lambda inside its class inside the function around it.
bool may_hold_code(int tag) { return is_scope(tag) || is_block(tag) || tag == DW_TAG_inlined_subroutine; }

struct DieKind {
    Dwarf_Abbrev* abbreviation = nullptr;
    int tag = DW_TAG_invalid;
    bool has_code = false;  // DW_AT_low_pc or DW_AT_ranges
};

/// The abbreviations of a unit, each looked up once. For every DIE libdw would look its abbreviation up in a hash table
/// under a lock; without that a walk over a unit takes two thirds of the time.
class DieKinds {
public:
    /// `die` is of the unit that the kinds are for; its abbreviation is set.
    const DieKind& of(Dwarf_Die& die) {
        const auto* const bytes = static_cast<const unsigned char*>(die.addr);  // a ULEB128 number of one or two bytes
        std::size_t code = bytes[0];
        if (code >= 0x80) {
            if (bytes[1] >= 0x80) return other_ = look_up(die);
            code = (code & 0x7f) | static_cast<std::size_t>(bytes[1]) << 7;
        }
        if (code >= kinds_.size()) kinds_.resize(code + 1);
        DieKind& kind = kinds_[code];
        if (kind.abbreviation == nullptr)
            kind = look_up(die);
        else
            die.abbrev = kind.abbreviation;
        return kind;
    }

private:
    static DieKind look_up(Dwarf_Die& die) {
        DieKind kind;
        kind.tag = ::dwarf_tag(&die);
        if (kind.tag == DW_TAG_invalid) return kind;
        kind.abbreviation = die.abbrev;
        unsigned name = 0, form = 0;
        for (std::size_t i = 0; ::dwarf_getabbrevattr(die.abbrev, i, &name, &form, nullptr) == 0; ++i)
            kind.has_code = kind.has_code || name == DW_AT_low_pc || name == DW_AT_ranges;
        return kind;
    }

    std::vector<DieKind> kinds_;  // by code
    DieKind other_;
};

class FunctionWalk {
public:
    FunctionWalk(const CodeUnit& unit, std::span<const std::uint64_t> addresses, std::uint64_t lowest,
                 const Deadline& deadline)
        : unit_(unit), addresses_(addresses), lowest_(lowest), deadline_(deadline), steps_(addresses.size()) {}

    void run() {
        walk_dies(unit_.root, [this](Dwarf_Die& die, std::size_t depth) {
            if (++dies_ % dies_between_looks_at_the_clock == 0) look_at_clock();
            return !late_ && matches_ < most_function_matches && visit(die, depth);
        });
    }
    bool late() const { return late_; }
    std::vector<FunctionSteps> take() { return std::move(steps_); }

private:
    struct OpenFunction {
        std::size_t depth;
        bool hit;
    };

    void look_at_clock() { late_ = late_ || (deadline_ && std::chrono::steady_clock::now() > *deadline_); }

    /// Whether to look into the children.
    bool visit(Dwarf_Die& die, std::size_t depth) {
        while (!functions_.empty() && functions_.back().depth >= depth) functions_.pop_back();
        const DieKind& kind = kinds_.of(die);
        if (!may_hold_code(kind.tag)) return false;
        if (kind.tag == DW_TAG_subprogram) {
            // A function nested in another's DIE (GNU C, Ada, Fortran) is a function of its own.
            const bool hit = kind.has_code && for_each_hit(die, [&](FunctionSteps& steps) {
                                 steps.assign(1, {die, 0, 0});
                             });
            functions_.push_back({depth, hit});
        } else if (kind.tag == DW_TAG_inlined_subroutine) {
            return inlined(die);
        }
        return true;
    }

    bool inlined(Dwarf_Die& die) {
        if (functions_.empty() || !functions_.back().hit) return false;
        std::optional<FunctionStep> step;
        return for_each_hit(die, [&](FunctionSteps& steps) {
            if (!step)
                step = {die, static_cast<std::uint32_t>(number_of(die, DW_AT_call_file)),
                        static_cast<std::uint32_t>(number_of(die, DW_AT_call_line))};
            if (!steps.empty() && steps.size() < most_steps) steps.push_back(*step);
        });
    }

    template <class Action>
    bool for_each_hit(Dwarf_Die& die, Action action) {
        bool hit = false;
        for_each_range(unit_, die, [&](std::uint64_t low, std::uint64_t high) {
            if (++matches_ >= most_function_matches) return false;
            if (matches_ % dies_between_looks_at_the_clock == 0) look_at_clock();
            if (low < lowest_) return !late_;
            const auto first = std::ranges::lower_bound(addresses_, low);
            for (auto i = first; i != addresses_.end() && *i < high && ++matches_ < most_function_matches; ++i) {
                action(steps_[static_cast<std::size_t>(i - addresses_.begin())]);
                hit = true;
            }
            return !late_;
        });
        return hit;
    }

    const CodeUnit& unit_;
    std::span<const std::uint64_t> addresses_;
    std::uint64_t lowest_;
    const Deadline& deadline_;
    DieKinds kinds_;
    std::vector<OpenFunction> functions_;  // subprograms that the walk is inside of
    std::vector<FunctionSteps> steps_;
    std::uint64_t matches_ = 0;
    std::uint64_t dies_ = 0;
    bool late_ = false;
};

/// A row may take only one byte of a table, but takes about a hundred in libdw's memory.
constexpr std::uint64_t most_table_bytes = std::uint64_t{8} << 20;

/// 0 if there is none.
std::uint64_t size_of_table(Dwarf_Die unit, Bytes section) {
    ByteReader cursor(section, number_of(unit, DW_AT_stmt_list));
    std::uint64_t size = cursor.u32();
    if (size == 0xffffffff) size = cursor.u64();
    return cursor.ok() ? size : 0;
}

}  // namespace

std::optional<std::vector<FunctionSteps>> find_functions(const CodeUnit& unit, std::span<const std::uint64_t> addresses,
                                                         std::uint64_t lowest, const Deadline& deadline) {
    FunctionWalk walk(unit, addresses, lowest, deadline);
    walk.run();
    if (walk.late()) return std::nullopt;
    return walk.take();
}

LineTable::LineTable(Dwarf_Die unit, Bytes section) : unit_(unit) {
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (!attribute_of(unit, DW_AT_stmt_list)) return;
    if (too_large_ = size_of_table(unit, section) > most_table_bytes; too_large_) return;
    if (::dwarf_getsrclines(&unit_, &lines, &count) != 0) return;
    has_rows_ = count > 0;
    if (::dwarf_getsrcfiles(&unit_, &files_, &count) != 0) files_ = nullptr;
    if (const char* const directory = text_of(unit, DW_AT_comp_dir); directory != nullptr) directory_ = directory;
    if (!directory_.empty() && !directory_.ends_with('/')) directory_.push_back('/');
}

Dwarf_Line* LineTable::row(std::uint64_t address) { return has_rows_ ? ::dwarf_getsrc_die(&unit_, address) : nullptr; }

std::uint32_t LineTable::line(Dwarf_Line* row) {
    int line = 0;
    return ::dwarf_lineno(row, &line) == 0 ? static_cast<std::uint32_t>(line) : 0;
}

const std::string& LineTable::file(Dwarf_Line* row) { return full_path(::dwarf_linesrc(row, nullptr, nullptr)); }

const std::string& LineTable::file(std::uint32_t number) {
    return full_path(files_ == nullptr ? nullptr : ::dwarf_filesrc(files_, number, nullptr, nullptr));
}

const std::string& LineTable::full_path(const char* name) {
    const auto [entry, is_new] = paths_.try_emplace(name);
    if (!is_new || name == nullptr || std::strcmp(name, "???") == 0) return entry->second;  // libdw's name for none
    // libdw puts the directory before the name, but leaves that relative to the unit's, which may be relative itself.
    const std::string_view path(name);
    const bool joined = path.starts_with('/') || (!directory_.empty() && path.starts_with(directory_));
    return entry->second = joined ? std::string(path) : directory_ + std::string(path);
}

}  // namespace flameprobe
