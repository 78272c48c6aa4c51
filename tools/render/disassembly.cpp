#include "page_sources.hpp"

#ifdef FLAMEPROBE_HAVE_CAPSTONE
#include <capstone/capstone.h>
#endif

#include <elf.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "render/function_totals.hpp"
#include "render/text.hpp"
#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

namespace {

#ifdef FLAMEPROBE_HAVE_CAPSTONE

constexpr std::size_t most_instructions = 4000;

/// A file that code was mapped from.
struct Module {
    std::unique_ptr<ElfFile> file;
    SymbolTable symbols;
    std::string problem;  // why there is no file
};

Module open_module(const Mapping& mapping) {
    Module module;
    auto file = ElfFile::open(mapping.path);
    if (!file) {
        module.problem = file.error().message;
    } else if ((*file)->build_id() != mapping.build_id) {
        module.problem = mapping.path + " is another build than the one that ran";
    } else {
        module.file = std::move(*file);
        module.symbols.add_table(*module.file, ".symtab");
        module.symbols.add_table(*module.file, ".dynsym");
        module.symbols.finish(*module.file);
    }
    return module;
}

struct CapstoneClose {
    void operator()(csh* handle) const {
        cs_close(handle);
        delete handle;
    }
};

struct CpuOfCode {
    std::uint16_t machine;  // e_machine
    cs_arch arch;
    cs_mode mode;
};
constexpr CpuOfCode cpus_of_code[] = {{EM_X86_64, CS_ARCH_X86, CS_MODE_64}, {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM}};

/// Disassembles code of one CPU, which may differ from this machine's.
class Disassembler {
public:
    explicit Disassembler(std::uint16_t machine) {
        const auto* const cpu = std::ranges::find(cpus_of_code, machine, &CpuOfCode::machine);
        if (cpu == std::end(cpus_of_code)) return;
        auto handle = std::make_unique<csh>();
        if (cs_open(cpu->arch, cpu->mode, handle.get()) != CS_ERR_OK) return;
        handle_.reset(handle.release());
        cs_option(*handle_, CS_OPT_SKIPDATA, CS_OPT_ON);
    }
    explicit operator bool() const { return handle_ != nullptr; }

    std::vector<Instruction> instructions(Bytes code, std::uint64_t address) const {
        std::vector<Instruction> made;
        cs_insn* list = nullptr;
        const std::size_t count = cs_disasm(*handle_, reinterpret_cast<const std::uint8_t*>(code.data()), code.size(),
                                            address, most_instructions, &list);
        for (std::size_t at = 0; at < count; ++at) {
            made.push_back({list[at].address, {}, std::string(list[at].mnemonic) + " " + list[at].op_str});
        }
        if (count > 0) cs_free(list, count);
        return made;
    }

private:
    std::unique_ptr<csh, CapstoneClose> handle_;
};

using Sums = std::map<std::pair<MappingId, std::uint64_t>, Amount>;  // by address as it ran

/// For each function the program counters of the samples that end in it or in what was inlined into it.
std::unordered_map<FunctionId, Sums> sampled_addresses(const NamedProfile& profile) {
    const std::vector<FunctionId> shown = shown_functions(profile);
    std::unordered_map<FunctionId, Sums> sums;
    for (const NamedCount& count : profile.counts) {
        if (count.weight == 0 || count.node == 0) continue;
        NodeId node = count.node;
        const auto kind = [&] { return profile.function(node).kind; };
        const auto skip = [&](auto is_skipped) {
            while (profile.nodes[node].parent != 0 && is_skipped(kind())) node = profile.nodes[node].parent;
        };
        skip([](FrameKind one) { return one == FrameKind::scope; });
        const FrameId leaf = profile.nodes[node].frame;
        if (profile.frames[leaf].location >= profile.locations.size()) continue;
        skip([](FrameKind one) { return one == FrameKind::scope || one == FrameKind::inlined; });
        if (kind() != FrameKind::user) continue;
        const Location& location = profile.locations[profile.frames[leaf].location];
        sums[shown[profile.function_of(node)]][{location.mapping, location.address}].add({count.weight, count.hits});
    }
    return sums;
}

/// Addresses in the file.
std::optional<std::uint64_t> file_address(const Mapping& mapping, const ElfFile& file, std::uint64_t address) {
    if (address < mapping.start || address - mapping.start >= mapping.size) return std::nullopt;
    return file.address_of(address - mapping.start + mapping.file_offset);
}

class Annotator {
public:
    explicit Annotator(const NamedProfile& profile) : profile_(profile), sums_(sampled_addresses(profile)) {}

    void add(FunctionSource& source) {
        const auto found = sums_.find(source.function);
        if (found == sums_.end()) return;
        const auto hottest =
            std::max_element(found->second.begin(), found->second.end(),
                             [](const auto& a, const auto& b) { return a.second.weight < b.second.weight; });
        const MappingId id = hottest->first.first;
        if (id >= profile_.mappings.size()) return;
        const Mapping& mapping = profile_.mappings[id];
        const Module& module = module_of(id);
        if (!module.file) return say(source, "no instructions: " + module.problem);
        const auto address = file_address(mapping, *module.file, hottest->first.second);
        const ElfSymbol* symbol = address ? module.symbols.find(*address) : nullptr;
        const auto offset = symbol != nullptr ? module.file->offset_of(symbol->start) : std::nullopt;
        const Bytes code = offset ? module.file->bytes().view(*offset, symbol->end - symbol->start) : Bytes();
        if (code.empty()) return say(source, "no instructions: " + mapping.path + " has no symbol for them");
        const std::uint16_t machine = module.file->machine();
        const Disassembler& disassembler = disassemblers_.try_emplace(machine, machine).first->second;
        if (!disassembler)
            return say(source, "no instructions: " + mapping.path + " is code of a CPU that is not known");
        source.instructions = disassembler.instructions(code, symbol->start);
        std::uint64_t elsewhere = 0;
        for (const auto& [place, sum] : found->second) {
            const auto at = place.first == id ? file_address(mapping, *module.file, place.second) : std::nullopt;
            const auto instruction = std::find_if(source.instructions.begin(), source.instructions.end(),
                                                  [&](const Instruction& one) { return at && one.address == *at; });
            if (instruction != source.instructions.end())
                instruction->self = sum;
            else
                elsewhere += sum.hits;
        }
        if (elsewhere > 0) {
            say(source, count_text(elsewhere) + " samples are in another copy or part of the function, not shown here");
        }
    }

private:
    static void say(FunctionSource& source, const std::string& text) {
        source.note += (source.note.empty() ? "" : "; ") + text;
    }
    const Module& module_of(MappingId id) {
        const auto [at, added] = modules_.try_emplace(profile_.mappings[id].path);
        if (added) at->second = open_module(profile_.mappings[id]);
        return at->second;
    }

    const NamedProfile& profile_;
    const std::unordered_map<FunctionId, Sums> sums_;
    std::map<std::string, Module> modules_;
    std::map<std::uint16_t, Disassembler> disassemblers_;  // by e_machine
};

#endif

}  // namespace

std::string_view without_instructions() {
#ifdef FLAMEPROBE_HAVE_CAPSTONE
    return {};
#else
    return "no instructions: capstone (libcapstone-dev) was missing when this program was built";
#endif
}

void add_disassembly([[maybe_unused]] const NamedProfile& profile, PageSource& source) {
#ifdef FLAMEPROBE_HAVE_CAPSTONE
    Annotator annotator(profile);
    for (FunctionSource& function : source.functions) annotator.add(function);
#else
    for (FunctionSource& function : source.functions)
        function.note.append(function.note.empty() ? "" : "; ").append(without_instructions());
#endif
}

}  // namespace flameprobe
