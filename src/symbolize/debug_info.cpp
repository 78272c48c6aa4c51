#include "symbolize/debug_info.hpp"

#include <elf.h>

#include <algorithm>
#include <map>

#include "symbolize/demangle.hpp"
#include "symbolize/dwarf_lines.hpp"
#include "symbolize/dwarf_names.hpp"

namespace flameprobe {

namespace {

/// Linkers point what they threw away at 0 or so; where code really begins is in the section headers.
std::uint64_t lowest_code(const ElfFile& file) {
    std::uint64_t lowest = ~std::uint64_t{0};
    for (const ElfSection& section : file.sections())
        if ((section.flags & SHF_EXECINSTR) != 0) lowest = std::min(lowest, section.address);
    return lowest == ~std::uint64_t{0} ? 0 : lowest;
}

/// Turns what the passes over one unit found into symbols.
class ChainBuilder {
public:
    ChainBuilder(const LineProgram& lines, const std::vector<FunctionSteps>& all, const SymbolTable& symbols)
        : lines_(lines), symbols_(symbols) {
        for (const FunctionSteps& steps : all)
            for (const FunctionStep& step : steps) names_.add(step.die);
        names_.finish();
    }

    std::vector<Symbol> build(std::uint64_t address, const FunctionSteps& steps, const LineRow& row) {
        std::vector<Symbol> chain;
        std::uint32_t file = row.file, line = row.line;
        for (std::size_t i = steps.size(); i-- > 0;) {
            const FunctionName& name = names_.find(steps[i].die);
            Symbol symbol;
            symbol.name = i == 0 ? concrete_name(address, name) : name.name;
            symbol.decl_line = name.decl_line;
            place(symbol, file, line, i + 1 < steps.size() || row.found);
            symbol.inlined = i > 0;
            chain.push_back(std::move(symbol));
            file = steps[i].call_file;
            line = steps[i].call_line;
        }
        if (steps.empty() && row.found) {
            // Assembly has lines but no functions.
            Symbol symbol;
            place(symbol, file, line, true);
            chain.push_back(std::move(symbol));
        }
        return chain;
    }

private:
    void place(Symbol& symbol, std::uint32_t file, std::uint32_t line, bool known) {
        if (!known) return;
        symbol.file = path(file);
        symbol.line = line;
    }
    const std::string& path(std::uint32_t file) {
        const auto [entry, is_new] = paths_.try_emplace(file);
        if (is_new) entry->second = lines_.path(file);
        return entry->second;
    }

    /// The symbol table's name where it has one: the same that is shown when there is no debug information, and that
    /// perf shows. glibc's debug information calls `open` `__GI___libc_open`.
    const std::string& concrete_name(std::uint64_t address, const FunctionName& name) {
        const ElfSymbol* symbol = symbols_.find(address);
        if (symbol == nullptr || !symbol->sized) return name.name;
        const auto [entry, is_new] = demangled_.try_emplace(symbol);
        if (is_new) entry->second = demangle(symbol->name);
        return entry->second;
    }

    const LineProgram& lines_;
    const SymbolTable& symbols_;
    FunctionNames names_;
    std::map<std::uint32_t, std::string> paths_;
    std::map<const ElfSymbol*, std::string> demangled_;
};

}  // namespace

DebugInfo::DebugInfo(const std::string& program, const ElfFile& file, const DebugFileSearch& search)
    : program_(program), lowest_(lowest_code(file)) {
    if (file.find(".gnu_debugaltlink") != nullptr) {
        alternate_elf_ = find_alternate(file, search);
        if (alternate_elf_)
            alternate_ = std::make_unique<DwarfFile>(DwarfSections::of(*alternate_elf_), nullptr);
        else
            alternate_missing_ = true;
    }
    main_ = std::make_unique<DwarfFile>(DwarfSections::of(file), alternate_.get());
    const auto is_split = [](const DwarfUnit& unit) { return !unit.dwo_name.empty(); };
    if (std::any_of(main_->units().begin(), main_->units().end(), is_split))
        split_ = std::make_unique<SplitDwarf>(program, file, search);
}

std::vector<std::string> DebugInfo::warnings() const {
    std::vector<std::string> warnings;
    if (main_->units().empty())
        warnings.push_back(program_ + ": its debug information cannot be read (damaged, or compressed with zstd)");
    if (alternate_missing_)
        warnings.push_back(program_ +
                           ": the file that its .gnu_debugaltlink names was not found, so some names and lines "
                           "are missing");
    const auto [missing, name] = split_ ? split_->missing() : std::pair<std::size_t, std::string>{};
    if (missing > 0)
        warnings.push_back(program_ + ": split debug information was not found (" + name +
                           (missing > 1 ? " and " + std::to_string(missing - 1) + " more" : std::string{}) +
                           "), so inlined functions are missing");
    return warnings;
}

std::vector<UnitHits> DebugInfo::find_units(std::span<const std::uint64_t> addresses) const {
    constexpr std::uint64_t most_matches = std::uint64_t{1} << 28;  // bounds the time on hostile files
    struct Choice {
        std::uint64_t size = ~std::uint64_t{0};
        std::uint32_t unit = 0;
    };
    std::vector<Choice> choices(addresses.size());
    std::uint64_t matches = 0;
    for (const UnitRange& range : main_->ranges()) {
        if (range.low < lowest_) continue;
        const auto first = std::lower_bound(addresses.begin(), addresses.end(), range.low) - addresses.begin();
        for (auto i = static_cast<std::size_t>(first); i < addresses.size() && addresses[i] < range.high; ++i) {
            // Should units overlap, the one with the smaller range knows better.
            if (range.high - range.low < choices[i].size) choices[i] = {range.high - range.low, range.unit};
            if (++matches > most_matches) break;
        }
    }
    std::map<std::uint32_t, UnitHits> hits;
    for (std::uint32_t i = 0; i < addresses.size(); ++i) {
        if (choices[i].size == ~std::uint64_t{0}) continue;
        UnitHits& unit = hits[choices[i].unit];
        unit.unit = choices[i].unit;
        unit.indices.push_back(i);
    }
    std::vector<UnitHits> list;
    for (auto& [unit, hit] : hits) list.push_back(std::move(hit));
    return list;
}

std::optional<SymbolChains> DebugInfo::describe(std::uint32_t index, std::span<const std::uint64_t> addresses,
                                                const SymbolTable& symbols, const Deadline& deadline) const {
    const DwarfUnit& unit = main_->units()[index];
    const auto split = unit.dwo_name.empty() ? nullptr : split_->find(unit);
    const auto steps = split ? find_functions(*split->file, *split->unit, addresses, lowest_, deadline)
                             : find_functions(*main_, unit, addresses, lowest_, deadline);
    if (!steps) return std::nullopt;
    const LineProgram lines(unit, main_->alternate_sections());
    const std::vector<LineRow> rows = lines.find(addresses, lowest_);
    ChainBuilder builder(lines, *steps, symbols);
    SymbolChains chains;
    for (std::size_t i = 0; i < addresses.size(); ++i)
        chains.push_back(builder.build(addresses[i], (*steps)[i], rows[i]));
    return chains;
}

}  // namespace flameprobe
