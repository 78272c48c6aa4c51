#include "symbolize/module.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "profile/counters.hpp"
#include "symbolize/debug_image.hpp"
#include "symbolize/demangle.hpp"
#include "symbolize/file_bytes.hpp"

namespace flameprobe {

namespace {

std::uint64_t entry_address(const ElfFile& file) {
    std::uint64_t entry = 0;
    const Bytes bytes = file.bytes().view(offsetof(Elf64_Ehdr, e_entry), sizeof entry);
    if (bytes.size() == sizeof entry) std::memcpy(&entry, bytes.data(), sizeof entry);
    return entry;
}

bool has_contents(const ElfFile& file, std::string_view name) {
    const ElfSection* section = file.find(name);
    return section != nullptr && section->type != SHT_NOBITS && section->size != 0;
}

bool imports(const ElfFile& file, std::string_view name) {
    const ElfSection *const table = file.find(".dynsym"), *const names = file.linked_to(table);
    return names != nullptr && any_symbol(file, *table, [&](const Elf64_Sym& symbol) {
               return symbol.st_shndx == SHN_UNDEF && file.text(*names, symbol.st_name) == name;
           });
}

// Numbers of devices may change when a machine boots.
bool is_that_file(const ElfFile& file, const Mapping& mapping, bool same_boot) {
    if (!mapping.build_id.empty()) return file.build_id() == mapping.build_id;
    FileIdentity found = file.bytes().identity();
    if (!mapping.file.known() || !found.known()) return true;
    if (!same_boot) found.device = mapping.file.device;
    return found == mapping.file;
}

std::string variable_at(const ElfFile& file, std::string_view section, std::uint64_t address) {
    const ElfSection *const table = file.find(section), *const names = file.linked_to(table);
    Elf64_Sym found{};
    const bool any = names != nullptr && any_symbol(file, *table, [&](const Elf64_Sym& symbol) {
                         const unsigned type = ELF64_ST_TYPE(symbol.st_info);
                         found = symbol;
                         return symbol.st_shndx != SHN_UNDEF && (type == STT_OBJECT || type == STT_COMMON) &&
                                address - symbol.st_value < symbol.st_size;
                     });
    if (!any) return {};
    const std::string_view text = file.text(*names, found.st_name);
    std::string name = demangle(text.substr(0, text.find('@')));
    const std::uint64_t inside = address - found.st_value;
    return inside == 0 || name.empty() ? name : name + "+" + lock_address(inside);
}

/// `_start`, where a stripped program's file still proves it: an executable that imports __libc_start_main is entered
/// in crt1.o's _start, and the unwind table says how far that reaches. So the root of the main thread's stack has a
/// name.
std::optional<ElfSymbol> entry_symbol(const ElfFile& file, const FunctionStarts& functions) {
    const std::uint64_t entry = entry_address(file);
    if (entry == 0) return std::nullopt;
    if (!imports(file, "__libc_start_main")) return std::nullopt;
    const auto function = functions.find(entry);
    if (!function || function->start != entry) return std::nullopt;
    return ElfSymbol{.start = function->start, .end = function->end, .name = "_start"};
}

}  // namespace

FunctionStarts::FunctionStarts(const ElfFile& file)
    : file_(&file),
      index_(file.bytes().view(file.frame_index().offset, file.frame_index().file_size), file.frame_index().address) {}

std::optional<FunctionExtent> FunctionStarts::find(std::uint64_t address) const {
    const auto entry = index_.entry_of(address);
    if (!entry) return std::nullopt;
    const auto at = file_->offset_of(entry->description);
    std::array<std::byte, 16> description;
    if (!at || !file_->bytes().read_into(*at, description)) return std::nullopt;
    const auto extent = extent_of(description, entry->description, entry->start);
    return extent && address < extent->end ? extent : std::nullopt;
}

DebugFileSearch debug_search(const SymbolizeOptions& options) {
    return {options.debug_directories, options.root ? options.root->get() : -1};
}

Module Module::open(const Mapping& mapping, const SymbolizeOptions& options, ModuleProblems& problems) {
    Module module;
    module.open_main(mapping, options, problems);
    module.find_debug_file(mapping, options, problems);
    return module;
}

bool Module::open_in_container(const Mapping& mapping, const SymbolizeOptions& options) {
    if (!options.root) return false;
    auto file = ElfFile::open(mapping.path, debug_search(options).root);
    if (!file || !is_that_file(**file, mapping, options.same_boot)) return false;
    main_ = std::move(*file);
    return true;
}

void Module::open_main(const Mapping& mapping, const SymbolizeOptions& options, ModuleProblems& problems) {
    if (open_in_container(mapping, options)) return;
    if (!options.same_place && mapping.build_id.empty()) {
        problems.file = mapping.path +
                        ": has no build id, and the path is another container's or machine's, so names in "
                        "it are missing";
        return;
    }
    auto file = ElfFile::open(mapping.path);
    if (file && is_that_file(**file, mapping, options.same_boot)) {
        main_ = std::move(*file);
        return;
    }
    if (options.read_image) {
        if (auto bytes = options.read_image(mapping)) {
            auto image = ElfFile::parse(FileBytes::from_memory(std::move(*bytes)), mapping.path);
            if (image && is_that_file(**image, mapping, options.same_boot)) {
                main_ = std::move(*image);
                return;
            }
        }
    }
    problems.replaced = static_cast<bool>(file);
    problems.file = file ? mapping.path + ": replaced since it was mapped (its " +
                               (mapping.build_id.empty() ? "inode, size or time" : "build id") +
                               " differs), so it was not used; names in it are missing"
                         : file.error().message + ", so names in it are missing";
}

void Module::find_debug_file(const Mapping& mapping, const SymbolizeOptions& options, ModuleProblems& problems) {
    if (main_ && has_contents(*main_, ".debug_info")) {
        debug_file_ = main_.get();
        return;
    }
    const DebugFileSearch search = debug_search(options);
    const std::string& build_id = main_ ? main_->build_id() : mapping.build_id;
    separate_ = find_by_build_id(build_id, search);
    if (!separate_ && main_) separate_ = find_by_debuglink(*main_, search);
    if (!separate_ && options.root) separate_ = find_by_build_id(build_id, {search.directories});  // of this machine
    if (!separate_ && options.debuginfod_until && !build_id.empty()) ask_debuginfod(build_id, options, problems);
    if (separate_ && has_contents(*separate_, ".debug_info")) debug_file_ = separate_.get();
}

void Module::ask_debuginfod(const std::string& build_id, const SymbolizeOptions& options, ModuleProblems& problems) {
    const auto path = fetch_debug_file(build_id, *options.debuginfod_until);
    if (!path) {
        problems.debuginfod = path.error().message;
        return;
    }
    auto file = ElfFile::open(*path);
    if (file && (*file)->build_id() == build_id) separate_ = std::move(*file);
}

void Module::load_symbols(std::vector<std::uint64_t> addresses) {
    const ElfFile* sections = main_ ? main_.get() : separate_.get();
    if (sections == nullptr) return;
    if (main_) {
        functions_ = FunctionStarts(*main_);
        std::vector<std::uint64_t> starts = plt_resolvers(*main_);
        for (const std::uint64_t address : addresses)
            if (const auto start = functions_.last_start(address); start != 0) starts.push_back(start);
        addresses.insert(addresses.end(), starts.begin(), starts.end());
    }
    symbols_ = SymbolTable(std::move(addresses));
    if (main_) {
        symbols_.add_table(*main_, ".symtab");
        symbols_.add_table(*main_, ".dynsym");
    }
    if (separate_) symbols_.add_table(*separate_, ".symtab");
    if (main_ && !has_contents(*main_, ".symtab") && !separate_ && has_contents(*main_, ".gnu_debugdata")) {
        std::string bytes = decompress_xz(main_->contents(".gnu_debugdata"));
        if (auto mini = ElfFile::parse(FileBytes::from_memory(std::move(bytes)), main_->path())) {
            mini_ = std::move(*mini);
            symbols_.add_table(*mini_, ".symtab");
        }
    }
    if (main_) {
        if (!has_contents(*main_, ".symtab")) add_go_functions(*main_, symbols_);
        if (const auto entry = entry_symbol(*main_, functions_)) symbols_.add(*entry);
        add_plt_stubs(*main_, symbols_);
    }
    symbols_.finish(*sections);
}

bool Module::is_thread_start(std::uint64_t address) {
    if (!main_) return false;
    if (!thread_starts_) thread_starts_ = thread_starts(*main_, functions_);
    return std::ranges::find(*thread_starts_, address) != thread_starts_->end();
}

std::uint64_t Module::debug_size() const { return debug_file_ == nullptr ? 0 : DebugImage::size_of(*debug_file_); }

std::optional<std::uint64_t> Module::file_address(const Mapping& mapping, std::uint64_t address) const {
    if (address < mapping.start) return std::nullopt;
    const std::uint64_t in_mapping = address - mapping.start;
    if (main_) return main_->address_of(in_mapping + mapping.file_offset);
    if (!separate_) return std::nullopt;
    // A separate debug file's segments have lost their file offsets. If only one is executable, the mapping is of that
    // one.
    const ElfSegment* code = nullptr;
    for (const ElfSegment& segment : separate_->segments()) {
        if (!segment.executable) continue;
        if (code != nullptr) return std::nullopt;
        code = &segment;
    }
    if (code == nullptr) return std::nullopt;
    return in_mapping + code->mapped_from(mapping.file_offset);
}

std::string Module::variable(const Mapping& code, std::uint64_t address) const {
    const auto start = main_ ? main_->address_of(code.file_offset) : std::nullopt;
    if (!start) return {};
    const std::uint64_t at = address - (code.start - *start);
    std::string name;
    for (const ElfFile* const file : {main_.get(), separate_.get()})
        for (const std::string_view section : {".symtab", ".dynsym"})
            if (file != nullptr && name.empty()) name = variable_at(*file, section, at);
    return name;
}

}  // namespace flameprobe
