// compare-rows [-v] PATH...: of each ELF file there, and below directories, reads every entry of .eh_frame and
// .debug_frame, and compares each row with what libdw says, and where it is x86-64's .eh_frame with libunwind. Prints
// differences and the numbers of what was compared; exit status 1 if there are differences.
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#ifdef FLAMEPROBE_HAVE_LIBUNWIND
#include "other_judge.hpp"
#endif
#include "oracle.hpp"
#include "unwind/elf_image.hpp"
#include "unwind/frame_sections.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

std::optional<CfiRow> row_of(const std::optional<CfiEntry>& entry, std::uint64_t address) {
    CfiRow row;
    return entry && find_row(*entry, address, row) ? std::optional(row) : std::nullopt;
}

struct Numbers {
    unsigned long files = 0, sections = 0, commons = 0, descriptions = 0, rows = 0, looked_up = 0;
    unsigned long refused = 0;                 // by both
    unsigned long hidden = 0;                  // descriptions that lie behind another one of the same address, for both
    unsigned long without_cfa = 0;             // no_cfa
    unsigned long stepped = 0, unstepped = 0;  // rows by which libunwind goes to the caller too, and which it refuses
    unsigned long differences = 0;
};

class Comparison {
public:
    Numbers numbers;
    bool verbose = false;

    void file(const std::string& path);

private:
    void section(const CfiSection& section);
    void entry(const CfiSection& section, std::uint64_t at, std::uint64_t common);
    void rows(const CfiEntry& entry, const Oracle& oracle, std::uint64_t at);
    void step(const CfiEntry& entry, const CfiRow& row, std::uint64_t at);
    void look_up(const CfiEntry& entry, std::uint64_t at);
    void differ(std::uint64_t at, std::uint64_t address, const std::string& what) {
        constexpr unsigned long most = 1000;
        if (what.ends_with(no_cfa)) {
            ++numbers.without_cfa;
            return;
        }
        if (++numbers.differences > most) return;
        std::printf("%s: %s + %#lx, address %#lx: %s\n", path_.c_str(), name_.c_str(), at, address, what.c_str());
    }

    std::string path_, name_;
    GElf_Ehdr header_{};
    Defaults defaults_{};
    std::set<std::uint16_t> known_;
    std::optional<EhFrame> eh_frame_;
    std::optional<DebugFrame> debug_frame_;
    Dwarf_CFI* whole_ = nullptr;  // what libdw finds by addresses in the whole file
};

void Comparison::rows(const CfiEntry& entry, const Oracle& oracle, std::uint64_t at) {
    for (std::uint64_t address = entry.start; address < entry.end;) {
        const auto ours = row_of(entry, address);
        const auto theirs = oracle.frame(address);
        if (!ours && theirs == nullptr) {
            ++numbers.refused;
            return;
        }
        if (!ours || theirs == nullptr) return differ(at, address, ours ? "libdw has no row" : "we have no row");
        ++numbers.rows;
        const std::string what = difference(entry, *ours, theirs.get(), defaults_);
        if (!what.empty()) differ(at, address, what);
        if (ours->start != address || ours->end <= address) return differ(at, address, "rows are not in a row");
        if (!entry.section.is_debug_frame) step(entry, *ours, at);
        address = ours->end;
    }
}

void Comparison::step([[maybe_unused]] const CfiEntry& entry, [[maybe_unused]] const CfiRow& row,
                      [[maybe_unused]] std::uint64_t at) {
#ifdef FLAMEPROBE_HAVE_LIBUNWIND
    if (header_.e_machine != EM_X86_64 || header_.e_type == ET_REL) return;
    for (const std::uint64_t address : {row.start, row.end - 1}) {
        const std::string what = difference_of_steps(entry, row, address, at);
        ++(what == "?" ? numbers.unstepped : numbers.stepped);
        if (!what.empty() && what != "?") differ(at, address, "by libunwind:" + what);
    }
#endif
}

/// Whether both find a row for an address of the entry by the file's own tables, and the same. Of entries that overlap,
/// as in files that are not linked yet, either may have found another.
void Comparison::look_up(const CfiEntry& entry, std::uint64_t at) {
    for (const std::uint64_t address : {entry.start, entry.end - 1}) {
        const auto found =
            entry.section.is_debug_frame ? debug_frame_->entry_of(address) : eh_frame_->entry_of(address);
        const auto ours = row_of(found, address);
        Dwarf_Frame* frame = nullptr;
        if (whole_ != nullptr) ::dwarf_cfi_addrframe(whole_, address, &frame);
        const Oracle::Frame theirs(frame);
        ++numbers.looked_up;
        if (ours && theirs && found->start == entry.start && found->end == entry.end) {
            const std::string what = difference(*found, *ours, theirs.get(), defaults_);
            if (!what.empty()) differ(at, address, "looked up:" + what);
        } else if (static_cast<bool>(ours) != static_cast<bool>(theirs)) {
            differ(at, address, ours ? "only we find it" : "only libdw finds it");
        } else {
            ++numbers.hidden;
        }
    }
}

void Comparison::entry(const CfiSection& section, std::uint64_t at, std::uint64_t common) {
    const auto ours = cfi_entry_at(section, at);
    const auto header = CfiHeader::at(section, at);
    if (!header || header->kind != CfiHeader::Kind::description || header->common != common)
        return differ(at, 0, "is a description for libdw only");
    ++numbers.descriptions;
    if (!ours) return differ(at, 0, "its code is not known");
    if (ours->start == ours->end) return;
    const Oracle oracle(section, at, common, header_.e_machine);
    rows(*ours, oracle, at);
    if (header_.e_type != ET_REL && !known_.empty()) look_up(*ours, at);
}

void Comparison::section(const CfiSection& section) {
    Elf_Data data{};
    data.d_buf = const_cast<std::byte*>(section.bytes.data());
    data.d_size = section.bytes.size();
    ++numbers.sections;
    std::uint64_t at = 0;
    for (Dwarf_Off next = 0; at != ~Dwarf_Off{0}; at = next) {
        Dwarf_CFI_Entry found;
        const auto* const ident = header_.e_ident;
        const int result = ::dwarf_next_cfi(ident, &data, !section.is_debug_frame, at, &next, &found);
        if (result > 0) break;
        const auto header = CfiHeader::at(section, at);
        if (result < 0) {
            if (header && header->kind != CfiHeader::Kind::terminator) differ(at, 0, "libdw refuses the entry");
            if (next == at || next == 0 || next >= section.bytes.size()) break;
            continue;
        }
        if (!dwarf_cfi_cie_p(&found)) {
            entry(section, at, found.fde.CIE_pointer);
            continue;
        }
        ++numbers.commons;
        if (!cfi_common_at(section, at)) differ(at, 0, std::string("common entry refused: ") + found.cie.augmentation);
    }
}

void Comparison::file(const std::string& path) {
    path_ = path;
    CodeRegion region;
    region.kind = RegionKind::file;
    region.path = path;
    const auto image = ElfImage::from_file(region);
    if (!image) return;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::unique_ptr<Elf, int (*)(Elf*)> elf(::elf_begin(file.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), ::elf_end);
    if (!elf || ::gelf_getehdr(elf.get(), &header_) == nullptr) return;
    ++numbers.files;
    if (verbose) std::fprintf(stderr, "%s\n", path.c_str());
    known_.clear();
    try {
        defaults_ = defaults_of(header_.e_machine);
        known_.insert(header_.e_machine);
    } catch (const std::runtime_error&) {
        return;  // of a machine that libdw does not know
    }
    std::size_t names = 0;
    ::elf_getshdrstrndx(elf.get(), &names);
    for (Elf_Scn* part = nullptr; (part = ::elf_nextscn(elf.get(), part)) != nullptr;) {
        GElf_Shdr header;
        ::gelf_getshdr(part, &header);
        const char* const name = ::elf_strptr(elf.get(), names, header.sh_name);
        name_ = name == nullptr ? "" : name;
        const bool is_debug_frame = name_ == ".debug_frame";
        if (header.sh_type == SHT_NOBITS || (name_ != ".eh_frame" && !is_debug_frame)) continue;
        if ((header.sh_flags & SHF_COMPRESSED) != 0) continue;  // nor is it read in the host
        const Elf_Data* const data = ::elf_rawdata(part, nullptr);
        if (data == nullptr || data->d_buf == nullptr) continue;
        eh_frame_.reset();
        debug_frame_.reset();
        Dwarf* dwarf = nullptr;
        if (is_debug_frame) {
            debug_frame_.emplace(*image, std::string());
            dwarf = ::dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr);
            whole_ = dwarf == nullptr ? nullptr : ::dwarf_getcfi(dwarf);
        } else {
            eh_frame_.emplace(*image);
            whole_ = ::dwarf_getcfi_elf(elf.get());
        }
        section({{static_cast<const std::byte*>(data->d_buf), data->d_size}, header.sh_addr, is_debug_frame});
        if (is_debug_frame) ::dwarf_end(dwarf);
        if (!is_debug_frame && whole_ != nullptr) ::dwarf_cfi_end(whole_);
    }
}

}  // namespace

int main(int count, char** arguments) {
    ::elf_version(EV_CURRENT);
    Comparison comparison;
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    const auto take = [&](const std::filesystem::path& path) {
        struct stat status {};
        if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
            seen.emplace(status.st_dev, status.st_ino).second)
            comparison.file(path);
    };
    for (int i = 1; i < count; ++i) {
        if (arguments[i] == std::string_view("-v")) {
            comparison.verbose = true;
            continue;
        }
        const auto path = std::filesystem::canonical(arguments[i]);
        take(path);
        if (!std::filesystem::is_directory(path)) continue;
        const auto skip = std::filesystem::directory_options::skip_permission_denied;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path, skip)) take(entry.path());
    }
    const Numbers& all = comparison.numbers;
    std::printf(
        "%lu files, %lu sections, %lu common entries, %lu descriptions, %lu rows (%lu refused by both), %lu "
        "looked up (%lu hidden), %lu steps by libunwind too (%lu refused), %lu differences (and %lu where libdw has no "
        "CFA)\n",
        all.files, all.sections, all.commons, all.descriptions, all.rows, all.refused, all.looked_up, all.hidden,
        all.stepped, all.unstepped, all.differences, all.without_cfa);
    return all.differences == 0 && all.rows != 0 ? 0 : 1;
}
