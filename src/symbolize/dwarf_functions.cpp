#include "symbolize/dwarf_functions.hpp"

#include <dwarf.h>

#include <algorithm>

#include "symbolize/dwarf_ranges.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t most_steps = 256;  // deeper inlining is cut: no compiler does it, hostile files may
constexpr std::uint64_t most_matches =
    1 << 26;  // of DIEs with addresses, in one unit: bounds the time on hostile files
constexpr unsigned dies_between_looks_at_the_clock = 1 << 16;

struct FunctionAttributes {
    DwarfValue low_pc, high_pc, ranges, call_file, call_line;

    FunctionAttributes(ByteCursor& cursor, const AbbreviationTable& table, const Abbreviation& abbreviation,
                       const UnitFormat& format) {
        for (const AttributeSpec& spec : table.attributes(abbreviation)) {
            switch (spec.name) {
                case DW_AT_low_pc:
                    low_pc = read_value(cursor, spec, format);
                    break;
                case DW_AT_high_pc:
                    high_pc = read_value(cursor, spec, format);
                    break;
                case DW_AT_ranges:
                    ranges = read_value(cursor, spec, format);
                    break;
                case DW_AT_call_file:
                    call_file = read_value(cursor, spec, format);
                    break;
                case DW_AT_call_line:
                    call_line = read_value(cursor, spec, format);
                    break;
                default:
                    skip_value(cursor, spec, format);
            }
        }
    }
};

class Walk {
public:
    Walk(const DwarfFile& file, const DwarfUnit& unit, std::span<const std::uint64_t> addresses, std::uint64_t lowest)
        : file_(file),
          unit_(unit),
          addresses_(addresses),
          lowest_(lowest),
          table_(file.abbreviations(unit)),
          cursor_(unit.sections->info.first(unit.end), unit.first_die),
          steps_(addresses.size()) {}

    /// Every DIE is looked at, types too: GCC puts the code of a lambda inside its class inside the function around it.
    bool run(const Deadline& deadline) {
        std::size_t depth = 0;
        for (unsigned count = 1; !cursor_.at_end(); ++count) {
            if (count % dies_between_looks_at_the_clock == 0 && deadline &&
                std::chrono::steady_clock::now() > *deadline)
                return false;
            const std::uint64_t offset = cursor_.offset(), code = cursor_.uleb();
            if (code == 0) {
                if (depth <= 1) break;  // behind the root's last child there may be padding
                --depth;
                if (!functions_.empty() && functions_.back().depth == depth) functions_.pop_back();
                continue;
            }
            const Abbreviation* abbreviation = table_->find(code);
            if (abbreviation == nullptr || matches_ > most_matches) break;
            die(offset, *abbreviation, depth);
            if (abbreviation->has_children)
                ++depth;
            else if (depth == 0)
                break;
        }
        return true;
    }
    std::vector<FunctionSteps> take() { return std::move(steps_); }

private:
    struct OpenFunction {
        std::size_t depth;
        bool hit;
    };

    void die(std::uint64_t offset, const Abbreviation& abbreviation, std::size_t depth) {
        switch (abbreviation.tag) {
            case DW_TAG_subprogram:
                function(offset, abbreviation, depth);
                break;
            case DW_TAG_inlined_subroutine:
                inlined(offset, abbreviation);
                break;
            default:
                skip(abbreviation);
        }
    }

    void skip(const Abbreviation& abbreviation) {
        if (abbreviation.fixed_size >= 0 && !unit_.format.is_64 && unit_.format.version > 2)
            return cursor_.skip(static_cast<std::uint64_t>(abbreviation.fixed_size));
        for (const AttributeSpec& spec : table_->attributes(abbreviation)) skip_value(cursor_, spec, unit_.format);
    }

    void function(std::uint64_t offset, const Abbreviation& abbreviation, std::size_t depth) {
        const FunctionAttributes attributes(cursor_, *table_, abbreviation, unit_.format);
        bool hit = false;
        for_each_hit(attributes, [&](FunctionSteps& steps) {
            // A function nested in another's DIE (GNU C, Ada, Fortran) is one of its own.
            steps.assign(1, {{&file_, &unit_, offset}, 0, 0});
            hit = true;
        });
        if (abbreviation.has_children) functions_.push_back({depth, hit});
    }

    void inlined(std::uint64_t offset, const Abbreviation& abbreviation) {
        if (functions_.empty() || !functions_.back().hit) return skip(abbreviation);
        const FunctionAttributes attributes(cursor_, *table_, abbreviation, unit_.format);
        const FunctionStep step{{&file_, &unit_, offset},
                                static_cast<std::uint32_t>(attributes.call_file.number),
                                static_cast<std::uint32_t>(attributes.call_line.number)};
        for_each_hit(attributes, [&](FunctionSteps& steps) {
            if (!steps.empty() && steps.size() < most_steps) steps.push_back(step);
        });
    }

    template <class Action>
    void for_each_hit(const FunctionAttributes& attributes, Action action) {
        for_each_range(unit_, attributes.low_pc, attributes.high_pc, attributes.ranges,
                       [&](std::uint64_t low, std::uint64_t high) {
                           if (low < lowest_) return;
                           const auto first = std::lower_bound(addresses_.begin(), addresses_.end(), low);
                           for (auto i = first; i != addresses_.end() && *i < high && ++matches_ < most_matches; ++i)
                               action(steps_[static_cast<std::size_t>(i - addresses_.begin())]);
                       });
    }

    const DwarfFile& file_;
    const DwarfUnit& unit_;
    std::span<const std::uint64_t> addresses_;
    std::uint64_t lowest_;
    std::shared_ptr<const AbbreviationTable> table_;
    ByteCursor cursor_;
    std::vector<OpenFunction> functions_;  // subprograms that the walk is inside of
    std::vector<FunctionSteps> steps_;
    std::uint64_t matches_ = 0;
};

}  // namespace

std::optional<std::vector<FunctionSteps>> find_functions(const DwarfFile& file, const DwarfUnit& unit,
                                                         std::span<const std::uint64_t> addresses, std::uint64_t lowest,
                                                         const Deadline& deadline) {
    Walk walk(file, unit, addresses, lowest);
    if (!walk.run(deadline)) return std::nullopt;
    return walk.take();
}

}  // namespace flameprobe
