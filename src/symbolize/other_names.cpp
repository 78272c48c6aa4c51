#include "symbolize/other_names.hpp"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <tuple>

#include "base/binary_text.hpp"
#include "base/paths.hpp"
#include "profile/counters.hpp"
#include "profile/names.hpp"
#include "symbolize/demangle.hpp"
#include "symbolize/module.hpp"

namespace flameprobe {

namespace {

std::string note_name(std::uint64_t note) {
    const std::string_view text = note_text(static_cast<Note>(note));
    return text.empty() ? "[note " + std::to_string(note) + "]" : std::string(text);
}

/// The kernel's own names for memory without a file: `//anon`, `[heap]`, `[stack]`, `[anon:name]`.
bool is_file_path(const std::string& path) { return !path.empty() && path[0] != '[' && !path.starts_with("//"); }

std::string unknown_at(const Mapping& mapping, std::uint64_t address) {
    if (is_file_path(mapping.path)) return unknown_in(mapping.path);
    return mapping.kind == MappingKind::anonymous ? std::string(nameless_jit_code) : hex_number(address);
}

/// The vdso's pages cannot be unmapped or changed, and their headers are right. The section headers come last.
Bytes vdso_image() {
    const auto* header =
        reinterpret_cast<const Elf64_Ehdr*>(::getauxval(AT_SYSINFO_EHDR));  // NOLINT: the kernel's word
    if (header == nullptr) return {};
    const std::uint64_t size = header->e_shoff + std::uint64_t{header->e_shnum} * header->e_shentsize;
    return {reinterpret_cast<const std::byte*>(header), size};
}

}  // namespace

VdsoSymbols::VdsoSymbols(const std::string& build_id) {
    auto file = ElfFile::parse(FileBytes::borrow(vdso_image()), "[vdso]");
    if (!file || (!build_id.empty() && (*file)->build_id() != build_id)) return;
    file_ = std::move(*file);
    symbols_.add_table(*file_, ".dynsym");
    symbols_.finish(*file_);
}

std::string VdsoSymbols::find(std::uint64_t offset) const {
    if (!file_) return {};
    const auto address = file_->address_of(offset);
    const ElfSymbol* symbol = address ? symbols_.find(*address) : nullptr;
    return symbol == nullptr ? std::string{} : demangle(symbol->name);
}

void OtherNames::prepare(const std::vector<Mapping>& mappings, const std::vector<Location>& locations) {
    if (!options_.same_boot) return;
    std::vector<std::uint64_t> in_kernel;
    for (const Location& location : locations)
        if (location.mapping < mappings.size() && mappings[location.mapping].kind == MappingKind::kernel)
            in_kernel.push_back(location.address);
    if (!in_kernel.empty()) {
        kernel_ = std::make_unique<KernelSymbols>(std::move(in_kernel));
        kernel_->add_running();
    }
    if (!options_.same_place) return;
    jit_dumps_ = jit_dumps_in(mappings);
}

std::string OtherNames::name(const Mapping& mapping, std::uint64_t address) {
    switch (mapping.kind) {
        case MappingKind::note:
            return mapping.path.empty() ? note_name(address) : mapping.path;
        case MappingKind::scope:
            return address < strings_.size() ? strings_[address] : "[scope " + std::to_string(address) + "]";
        case MappingKind::kernel:
            return kernel_name(address);
        case MappingKind::vdso:
            return vdso_name(mapping, address);
        case MappingKind::file:
        case MappingKind::anonymous:
        case MappingKind::unknown:
            break;
    }
    std::string name = jit_name(mapping, address);
    return name.empty() ? unknown_at(mapping, address) : name;
}

std::string OtherNames::kernel_name(std::uint64_t address) {
    std::string name = kernel_ ? kernel_->find(address) : std::string{};
    return name.empty() ? "[unknown in kernel]" : name;
}

std::string OtherNames::vdso_name(const Mapping& mapping, std::uint64_t address) {
    // Without a build id nothing but the boot tells whether our image is the one that was sampled.
    if (mapping.build_id.empty() && !options_.same_boot) return "[unknown in vdso]";
    if (!vdso_) vdso_ = std::make_unique<VdsoSymbols>(mapping.build_id);
    std::string name = vdso_->find(address - mapping.start + mapping.file_offset);
    return name.empty() ? "[unknown in vdso]" : name;
}

std::string OtherNames::jit_name(const Mapping& mapping, std::uint64_t address) {
    if (options_.pid == 0 && jit_dumps_.empty()) return {};
    if (!perf_map_) perf_map_ = std::make_unique<PerfMap>(PerfMap::of_process(options_.pid, jit_dumps_, warnings_));
    // Where the place held several functions, the mapping is the one function's (split_by_time()).
    const auto of_its_time =
        options_.start_monotonic_ns == 0
            ? std::string_view()
            : perf_map_->find(mapping.start, mapping.size, options_.start_monotonic_ns + mapping.since_ns);
    return demangle(of_its_time.empty() ? perf_map_->find(address) : of_its_time);
}

namespace {

/// The last code mapped before an address. A file's variables lie behind its code, before any other file's.
const Mapping* code_before(const std::vector<Mapping>& mappings, std::uint64_t address) {
    const Mapping* last = nullptr;
    for (const Mapping& mapping : mappings)
        if (mapping.kind == MappingKind::file && mapping.start <= address &&
            (last == nullptr || mapping.start > last->start))
            last = &mapping;
    return last;
}

class Variables {
public:
    Variables(const std::vector<Mapping>& mappings, const SymbolizeOptions& options)
        : mappings_(mappings), options_(options) {
        options_.debuginfod_until.reset();
    }

    std::string at(std::uint64_t address) {
        const Mapping* const code = code_before(mappings_, address);
        if (code == nullptr) return {};
        auto& module = modules_[code->path];
        ModuleProblems problems;
        if (!module) module = Module::open(*code, options_, problems);
        return module->variable(*code, address);
    }

private:
    const std::vector<Mapping>& mappings_;
    SymbolizeOptions options_;
    std::map<std::string, std::optional<Module>> modules_;
};

}  // namespace

void name_locks(const std::vector<Mapping>& mappings, const std::vector<Location>& locations,
                const SymbolizeOptions& options, SymbolChains& chains) {
    Variables variables(mappings, options);
    std::map<std::uint64_t, std::string> known;
    for (LocationId id = 0; id < locations.size(); ++id) {
        const auto [mapping, address] = locations[id];
        if (mapping >= mappings.size() || mappings[mapping].kind != MappingKind::note ||
            !is_holder_note(mappings[mapping].path))
            continue;
        const auto [name, is_new] = known.try_emplace(address);
        if (is_new) name->second = variables.at(address);
        chains[id].front().file = lock_file(name->second.empty() ? lock_address(address) : name->second);
    }
}

namespace {

std::size_t underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

/// Among names of one address: a global one, one with few underscores, the first by the alphabet.
bool is_better(bool global, std::string_view name, bool than_global, std::string_view than) {
    if (global != than_global) return global;
    return std::tuple(underscores(name), name) < std::tuple(underscores(than), than);
}

}  // namespace

KernelSymbols::KernelSymbols(std::vector<std::uint64_t> addresses) {
    std::ranges::sort(addresses);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    asked_.reserve(addresses.size());
    for (const std::uint64_t address : addresses) asked_.push_back({.address = address, .name = {}, .module = {}});
}

// The kernel makes its 5 MB of text a page at a time: each is used before the next. Half of it would give wrong names.
void KernelSymbols::add_running() {
    std::ifstream file("/proc/kallsyms");
    for (std::string line; std::getline(file, line);) add_line(line);
    if (file.bad()) std::ranges::for_each(asked_, [](Asked& asked) { asked.start = 0; });
}

void KernelSymbols::add(std::string_view lines) {
    for (const std::string_view line : parts_of_list(lines, '\n')) add_line(line);
}

void KernelSymbols::add_line(std::string_view line) {
    std::uint64_t start = 0;
    const auto number = std::from_chars(line.data(), line.data() + line.size(), start, 16);
    const auto blank = static_cast<std::size_t>(number.ptr - line.data());
    if (number.ec != std::errc{} || start == 0 || blank + 3 >= line.size()) return;
    const char type = line[blank + 1];
    // Only text symbols (nm's letters): data lies elsewhere and would swallow what comes after the last function.
    if (std::tolower(static_cast<unsigned char>(type)) != 't' && type != 'W' && type != 'w') return;

    const auto found = std::ranges::lower_bound(asked_, start, {}, &Asked::address);
    if (found == asked_.end() || start < found->start) return;
    Asked& asked = *found;
    const std::size_t tab = std::min(line.find('\t', blank + 3), line.size());
    const std::string_view name = line.substr(blank + 3, tab - blank - 3);
    const bool global = type == 'T';
    if (start == asked.start && !is_better(global, name, asked.global, asked.name)) return;
    asked.start = start;
    asked.global = global;
    asked.name = name;
    asked.module = line.substr(std::min(tab + 1, line.size()));
}

std::string KernelSymbols::find(std::uint64_t address) const {
    auto found = std::ranges::lower_bound(asked_, address, {}, &Asked::address);
    if (found == asked_.end() || found->address != address) return {};
    while (found->start == 0 && found != asked_.begin()) --found;
    // Symbols have no sizes. No function of the kernel is as large as a MiB, so an address farther behind is not in it.
    if (found->start == 0 || address - found->start > (1 << 20)) return {};
    return found->module.empty() ? found->name : found->name + ' ' + found->module;
}

bool KernelSymbols::empty() const {
    return std::ranges::all_of(asked_, [](const Asked& asked) { return asked.start == 0; });
}

bool kernel_symbols_are_visible() {
    KernelSymbols any({~std::uint64_t{0}});
    any.add_running();
    return !any.empty();
}

}  // namespace flameprobe
