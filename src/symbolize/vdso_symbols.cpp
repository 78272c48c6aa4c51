#include "symbolize/vdso_symbols.hpp"

#include <elf.h>
#include <sys/auxv.h>

#include "symbolize/demangle.hpp"

namespace flameprobe {

namespace {

/// The kernel's own pages: they are as their headers say, and cannot go away or change. The section headers come last.
Bytes image() {
    const auto* header =
        reinterpret_cast<const Elf64_Ehdr*>(::getauxval(AT_SYSINFO_EHDR));  // NOLINT: the kernel's word
    if (header == nullptr) return {};
    const std::uint64_t size = header->e_shoff + std::uint64_t{header->e_shnum} * header->e_shentsize;
    return {reinterpret_cast<const std::byte*>(header), size};
}

}  // namespace

VdsoSymbols::VdsoSymbols(const std::string& build_id) {
    auto file = ElfFile::parse(FileBytes::borrow(image()), "[vdso]");
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

}  // namespace flameprobe
