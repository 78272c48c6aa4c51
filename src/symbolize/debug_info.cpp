#include "symbolize/debug_info.hpp"

#include <elf.h>

#include <algorithm>
#include <map>

#include "symbolize/demangle.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t most_matches = std::uint64_t{1} << 26;  // bounds the time on hostile files
constexpr std::size_t units_between_looks_at_memory = 1024;

/// Debug information of functions that the linker discarded has addresses near 0. The section headers tell where code
/// really begins.
std::uint64_t lowest_code(const ElfFile& file) {
    std::uint64_t lowest = ~std::uint64_t{0};
    for (const ElfSection& section : file.sections())
        if ((section.flags & SHF_EXECINSTR) != 0) lowest = std::min(lowest, section.address);
    return lowest == ~std::uint64_t{0} ? 0 : lowest;
}

/// Turns what the passes over one unit found into symbols.
class ChainBuilder {
public:
    ChainBuilder(LineTable& lines, const std::vector<FunctionSteps>& all, const SymbolTable& symbols)
        : lines_(lines), symbols_(symbols) {
        for (const FunctionSteps& steps : all)
            for (const FunctionStep& step : steps) names_.add(step.die);
        names_.finish();
    }

    std::vector<Symbol> build(std::uint64_t address, const FunctionSteps& steps) {
        std::vector<Symbol> chain;
        Dwarf_Line* const row = lines_.row(address);
        Symbol place;  // of the step that comes next
        if (row != nullptr) {
            place.file = lines_.file(row);
            place.line = LineTable::line(row);
        }
        for (std::size_t i = steps.size(); i-- > 0;) {
            const FunctionName& name = names_.find(steps[i].die);
            Symbol& symbol = chain.emplace_back(std::move(place));
            symbol.name = i == 0 ? concrete_name(address, name) : name.name;
            symbol.decl_line = name.decl_line;
            symbol.inlined = i > 0;
            place = {};
            place.file = lines_.file(steps[i].call_file);
            place.line = steps[i].call_line;
        }
        // Assembly has lines but no functions.
        if (steps.empty() && row != nullptr) chain.push_back(std::move(place));
        return chain;
    }

private:
    /// The symbol table's name where it has one: the name that is shown without debug information, and by perf. glibc's
    /// debug information calls `open` `__GI___libc_open`.
    const std::string& concrete_name(std::uint64_t address, const FunctionName& name) {
        const ElfSymbol* symbol = symbols_.find(address);
        if (symbol == nullptr || !symbol->sized) return name.name;
        const auto [entry, is_new] = demangled_.try_emplace(symbol);
        if (is_new) entry->second = demangle(symbol->name);
        return entry->second;
    }

    LineTable& lines_;
    const SymbolTable& symbols_;
    FunctionNames names_;
    std::map<const ElfSymbol*, std::string> demangled_;
};

std::optional<DebugImage> alternate_image(const ElfFile& file, const DebugFileSearch& search) {
    const auto alternate = find_alternate(file, search);
    if (!alternate) return std::nullopt;
    return DebugImage::of(*alternate);
}

}  // namespace

DebugInfo::DebugInfo(const std::string& program, const ElfFile& file, const DebugFileSearch& search)
    : program_(program),
      lowest_(lowest_code(file)),
      image_(DebugImage::of(file)),
      alternate_image_(alternate_image(file, search)),
      split_(program, file, search),
      pool_(image_, alternate_image_ ? &*alternate_image_ : nullptr) {
    alternate_missing_ = file.find(".gnu_debugaltlink") != nullptr && !alternate_image_;
}

std::vector<std::string> DebugInfo::warnings() const {
    std::vector<std::string> warnings;
    if (unreadable_) warnings.push_back(program_ + ": its debug information cannot be read (it is damaged)");
    if (alternate_missing_)
        warnings.push_back(program_ +
                           ": the file that its .gnu_debugaltlink names was not found, so some names and lines "
                           "are missing");
    if (const std::size_t count = tables_too_large_; count > 0)
        warnings.push_back(program_ +
                           ": some line numbers are missing, as line tables of more than 8 MiB are not read (" +
                           std::to_string(count) + ")");
    const auto [missing, name] = split_.missing();
    if (missing > 0)
        warnings.push_back(program_ + ": split debug information was not found (" + name +
                           (missing > 1 ? " and " + std::to_string(missing - 1) + " more" : std::string{}) +
                           "), so inlined functions are missing");
    return warnings;
}

std::vector<UnitHits> DebugInfo::find_units(std::span<const std::uint64_t> addresses) {
    struct Choice {
        std::uint64_t size = ~std::uint64_t{0};
        std::uint32_t unit = 0;
    };
    std::vector<Choice> choices(addresses.size());
    std::vector<UnitHits> units;
    std::uint64_t matches = 0;
    auto handle = pool_.take();
    if (!handle) return unreadable_ = true, units;
    // Where units overlap, the one with the smaller range is used.
    const auto choose = [&](std::uint64_t low, std::uint64_t high) {
        const auto first = std::ranges::lower_bound(addresses, low) - addresses.begin();
        for (auto i = static_cast<std::size_t>(first); i < addresses.size() && addresses[i] < high; ++i) {
            if (high - low < choices[i].size) choices[i] = {high - low, static_cast<std::uint32_t>(units.size() - 1)};
            if (++matches > most_matches) break;
        }
    };
    Dwarf_CU* unit = nullptr;
    CodeUnit code;
    while (::dwarf_get_units(handle->main.get(), unit, &unit, nullptr, nullptr, &code.root, nullptr) == 0) {
        if (units.size() % units_between_looks_at_memory == 0) require_memory();
        const std::uint64_t at = ::dwarf_dieoffset(&code.root);
        if (!units.empty()) units.back().size = at - units.back().unit;
        units.push_back({at, 0, {}});
        const int tag = ::dwarf_tag(&code.root);
        if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) continue;
        std::uint64_t from = 0, to = 0;  // adjacent ranges as one
        for_each_range(code, code.root, [&](std::uint64_t low, std::uint64_t high) {
            if (low == to) {
                to = high;
                return ++matches < most_matches;
            }
            if (from >= lowest_) choose(from, to);
            from = low;
            to = high;
            return ++matches < most_matches;
        });
        if (from >= lowest_) choose(from, to);
    }
    pool_.give(std::move(handle));
    unreadable_ = units.empty();
    if (!units.empty()) units.back().size = image_.section(".debug_info").size() - units.back().unit;
    for (std::uint32_t i = 0; i < addresses.size(); ++i)
        if (choices[i].size != ~std::uint64_t{0}) units[choices[i].unit].indices.push_back(i);
    std::erase_if(units, [](const UnitHits& hits) { return hits.indices.empty(); });
    return units;
}

std::optional<SymbolChains> DebugInfo::describe(const UnitHits& hits, std::span<const std::uint64_t> addresses,
                                                const SymbolTable& symbols, const Deadline& deadline) {
    auto handle = pool_.take();
    CodeUnit unit;
    if (!handle || ::dwarf_offdie(handle->main.get(), hits.unit, &unit.root) == nullptr)
        return SymbolChains(addresses.size());
    const Dwarf_Die root = unit.root;
    std::unique_ptr<SplitUnit> split;
    if (const auto skeleton = Skeleton::of(root, image_)) split = split_.find(*skeleton);
    const auto steps = find_functions(split ? split->unit : unit, addresses, lowest_, deadline);
    if (!steps) return std::nullopt;
    LineTable lines(root, image_.section(".debug_line"));
    if (lines.too_large()) ++tables_too_large_;
    ChainBuilder builder(lines, *steps, symbols);
    SymbolChains chains;
    for (std::size_t i = 0; i < addresses.size(); ++i) chains.push_back(builder.build(addresses[i], (*steps)[i]));
    handle->bytes_read += hits.size;
    pool_.give(std::move(handle));
    return chains;
}

}  // namespace flameprobe
