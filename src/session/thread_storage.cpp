#include "session/thread_storage.hpp"

#include <link.h>

#include <cstddef>
#include <vector>

namespace {

/// What the ABI hands to __tls_get_addr (ELF Handling For Thread-Local Storage, section 3.4).
struct TlsIndex {
    unsigned long module, offset;
};

int collect_missing(dl_phdr_info* info, std::size_t size, void* missing) {
    const bool has_tls_fields = size >= offsetof(dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data;
    if (has_tls_fields && info->dlpi_tls_modid != 0 && info->dlpi_tls_data == nullptr)
        static_cast<std::vector<unsigned long>*>(missing)->push_back(info->dlpi_tls_modid);
    return 0;
}

}  // namespace

extern "C" void* __tls_get_addr(TlsIndex*);

namespace flameprobe {

void allocate_thread_storage() {
    std::vector<unsigned long> missing;
    ::dl_iterate_phdr(collect_missing, &missing);
    for (const unsigned long module : missing) {
        TlsIndex index{module, 0};
        __tls_get_addr(&index);
    }
}

}  // namespace flameprobe
