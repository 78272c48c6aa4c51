// Go's linker leaves a note in each program and library: the name "Go", the type 4, its build id (cmd/link,
// ELF_NOTE_GOBUILDID).
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "parts.hpp"

namespace flameprobe {
namespace {

// struct dl_find_object (dlfcn.h since glibc 2.35), with room for what is reserved in it.
struct Found {
    unsigned long long flags;
    void *begin, *end;
    void* reserved[16];
};
using FindObject = int(void*, void*);
constinit FindObject* find_object = nullptr;

/// The ELF header of the module, which is where its mapping begins.
const ElfW(Ehdr) * header_of(uintptr_t address) noexcept {
    Found found;
    Dl_info info;
    if (find_object != nullptr) {
        if (find_object(reinterpret_cast<void*>(address), &found) != 0) return nullptr;
        return static_cast<const ElfW(Ehdr)*>(found.begin);
    }
    if (::dladdr(reinterpret_cast<void*>(address), &info) == 0) return nullptr;
    return static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
}

bool has_go_note(const char* at, const char* end) noexcept {
    constexpr uint32_t go_build_id = 4;
    const auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        ::memcpy(&note, at, sizeof note);
        const char* const name = at + sizeof note;
        if (note.n_type == go_build_id && note.n_namesz == 4 && ::memcmp(name, "Go\0", 4) == 0) return true;
        at = name + padded(note.n_namesz) + padded(note.n_descsz);
    }
    return false;
}

__attribute__((constructor(101))) void find_function() {
    find_object = reinterpret_cast<FindObject*>(::dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

}  // namespace

bool is_go_code(uintptr_t address) noexcept {
    const ElfW(Ehdr)* const header = header_of(address);
    if (header == nullptr || ::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    const char* const base = reinterpret_cast<const char*>(header);
    const auto* const segments = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
    uintptr_t first = ~uintptr_t{0};  // the address that lies at the header
    for (int i = 0; i < header->e_phnum; ++i)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < first) first = segments[i].p_vaddr;
    for (int i = 0; i < header->e_phnum; ++i) {
        const char* const notes = base + (segments[i].p_vaddr - first);
        if (segments[i].p_type == PT_NOTE && has_go_note(notes, notes + segments[i].p_memsz)) return true;
    }
    return false;
}

}  // namespace flameprobe
