#include "symbolize/build_facts.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/proc.hpp"
#include "symbolize/build_flags.hpp"
#include "symbolize/elf_file.hpp"

namespace flameprobe {

namespace {

/// What compilers and linkers left in .comment: zero-terminated texts.
std::string compilers_of(const ElfFile& file) {
    if (file.contents_size(".comment") > 65536) return {};
    std::string all(as_text(file.contents(".comment"))), list;
    for (std::size_t begin = 0; begin < all.size();) {
        const std::size_t end = std::min(all.find('\0', begin), all.size());
        if (end > begin) list += (list.empty() ? "" : ", ") + all.substr(begin, end - begin);
        begin = end + 1;
    }
    return list;
}

bool is_what_ran(const ElfFile& file, const RunInfo& run, const Mapping* executable) {
    if (executable != nullptr && !executable->build_id.empty()) return file.build_id() == executable->build_id;
    const FileIdentity found = file.bytes().identity();
    if (executable == nullptr || !executable->file.known()) return found.time_ns <= run.start_unix_ns;
    return found.inode == executable->file.inode && found.size == executable->file.size &&
           found.time_ns == executable->file.time_ns;
}

/// Null if it is not there, or not what ran.
std::unique_ptr<ElfFile> program_of(const RunInfo& run, const Mapping* executable) {
    if (!run.place.empty() && run.place != place_of("/proc/self")) return nullptr;
    auto file = ElfFile::open(run.executable, FileAccess::map);
    return file && is_what_ran(**file, run, executable) ? std::move(*file) : nullptr;
}

}  // namespace

bool add_build_facts(RunInfo& run, const Mapping* executable) {
    const auto place = [&run](std::string_view name) { return std::ranges::find(run.facts, name, &RunFact::name); };
    const auto behind = place("dirty");
    if (behind == run.facts.end() || place("compilers") != run.facts.end()) return false;
    const auto file = program_of(run, executable);
    if (!file) return false;
    const std::string compilers = compilers_of(*file), flags = build_flags(*file);
    run.facts.insert(behind + 1, {{"compilers", compilers.empty() ? "not known" : compilers},
                                  {"optimisation flags", flags.empty() ? "not recorded" : flags}});
    return true;
}

}  // namespace flameprobe
