#include "program.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/paths.hpp"
#include "output_of.hpp"
#include "symbolize/debug_file.hpp"
#include "symbolize/elf_file.hpp"

namespace flameprobe {

namespace {

std::string real_path(const std::string& path) {
    char real[PATH_MAX];
    return realpath(path.c_str(), real) != nullptr ? real : path;
}

bool is_program(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

bool gains_privilege(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return false;
    const bool set_id = (status.st_mode & (S_ISUID | S_ISGID)) != 0;
    const bool capabilities = getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
    return (set_id || capabilities) && geteuid() != 0;
}

bool has(const ElfFile& file, const char* section) {
    const ElfSection* found = file.find(section);
    return found != nullptr && found->size > 0;
}

void find_debug_file(const ElfFile& file, ElfFacts& facts) {
    const DebugFileSearch search{{"/usr/lib/debug"}};
    auto separate = find_by_build_id(file.build_id(), search);
    if (!separate) separate = find_by_debuglink(file, search);
    if (!separate) return;
    facts.symbol_table = facts.symbol_table || has(*separate, ".symtab");
    facts.debug_info = has(*separate, ".debug_info") || has(*separate, ".zdebug_info");
    facts.debug_file = separate->path();
}

/// A function of an allocator that is linked into the file, which no library can stand before: glibc's, jemalloc's,
/// Rust's, mimalloc's, tcmalloc's, Go's.
std::string own_allocator(const ElfFile& file) {
    constexpr std::string_view names[] = {"malloc",    "je_malloc", "_rjem_malloc",
                                          "mi_malloc", "tc_malloc", "runtime.mallocgc"};
    std::string found;
    for (const auto& [symbols, strings] : {std::pair(".dynsym", ".dynstr"), std::pair(".symtab", ".strtab")}) {
        const ElfSection* const table = file.find(symbols);
        if (table == nullptr) continue;
        const std::string_view texts = as_text(file.contents(strings));
        any_symbol(file, *table, [&](const Elf64_Sym& symbol) {
            if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= texts.size()) return false;
            const std::string_view rest = texts.substr(symbol.st_name), name = rest.substr(0, rest.find('\0'));
            if (std::find(std::begin(names), std::end(names), name) != std::end(names)) found = name;
            return !found.empty();
        });
        if (!found.empty()) break;
    }
    return found;
}

bool is_32_bit(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string begin(EI_NIDENT, '\0');
    in.read(begin.data(), EI_NIDENT);
    return begin.starts_with(ELFMAG) && begin[EI_CLASS] == ELFCLASS32;
}

}  // namespace

std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
    const char* path = getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string directory; std::getline(directories, directory, ':');) {
        const std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
        if (is_program(candidate)) return candidate;
    }
    return {};
}

Result<ElfFacts> elf_facts(const std::string& path) {
    ElfFacts facts;
    facts.path = real_path(path);
    const auto file = ElfFile::open(facts.path);
    if (!file) return file.error();
    const ElfFile& elf = **file;
    facts.dynamic = has(elf, ".interp");
    facts.loader = std::string(as_text(elf.contents(".interp"))).c_str();  // ends in a zero
    facts.symbol_table = has(elf, ".symtab") || has(elf, ".gnu_debugdata");
    facts.debug_info = has(elf, ".debug_info") || has(elf, ".zdebug_info");
    facts.unwind_tables = has(elf, ".eh_frame");
    facts.has_build_id = !elf.build_id().empty();
    facts.privileged = gains_privilege(facts.path);
    if (!facts.debug_info) find_debug_file(elf, facts);
    return facts;
}

std::string script_interpreter(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string line(256, '\0');
    in.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<std::size_t>(in.gcount()));
    if (!line.starts_with("#!")) return {};
    std::istringstream words(line.substr(2, line.find('\n') - 2));
    std::string interpreter, argument;
    words >> interpreter >> argument;
    const bool by_env = interpreter.ends_with("/env") && !argument.empty() && argument[0] != '-';
    return by_env ? argument : interpreter;
}

std::string allocator_note(const std::string& name) {
    const std::string path = find_program(name);
    const auto file = ElfFile::open(real_path(path));
    const std::string function = file ? own_allocator(**file) : "";
    if (function.empty()) return {};
    return (*file)->path() + " has an allocator of its own (" + function +
           "): of what it allocates only what passes by the C library's is seen";
}

PreloadObstacle preload_obstacle(const std::string& name) {
    std::string path = find_program(name);
    for (int depth = 0; depth < 4 && !path.empty(); ++depth) {  // as many interpreters as the kernel follows
        const std::string interpreter = script_interpreter(path);
        if (interpreter.empty()) break;
        path = find_program(interpreter);
    }
    // `ld-linux-x86-64.so.2 ./prog` preloads into the program that it loads.
    if (path.empty() || is_dynamic_linker(real_path(path))) return {};
    if (is_32_bit(path)) return {path + " is a 32-bit program: nothing of it is sampled; build it for 64 bits", true};
    const auto facts = elf_facts(path);
    if (!facts) return {};
    if (facts->privileged)  // under a tracer they would be lost
        return {facts->path + " runs with privileges of its own" +
                    (facts->dynamic ? ", so the loader ignores LD_PRELOAD" : "") + ": run it as the user it becomes",
                !facts->dynamic};
    if (facts->loader.find("/ld-musl-") != std::string::npos)
        return {facts->path + " is linked with musl, and the library with glibc: nothing can be preloaded", true, true};
    if (!facts->dynamic) return {facts->path + " is linked statically: nothing can be preloaded", true, true};
    return {};
}

std::vector<std::string> libraries_of(const std::string& path) {
    const auto file = ElfFile::open(path);
    if (!file) return {};
    std::string loader(as_text((*file)->contents(".interp")));
    loader = loader.c_str();  // ends in a zero
    if (loader.empty()) return {};
    std::istringstream lines(output_of({loader, "--list", path}));
    std::vector<std::string> libraries;
    for (std::string line; std::getline(lines, line);) {
        const auto arrow = line.find("=> /");
        if (arrow == std::string::npos) continue;
        const std::string library = line.substr(arrow + 3);
        libraries.push_back(library.substr(0, library.rfind(" (")));
    }
    return libraries;
}

}  // namespace flameprobe
