// preload/longjmp.cpp asks the core whether any scope was ever seen. Here there is no core, and there are scopes.
#include "core.hpp"

namespace flameprobe {

const flameprobe_core* core_if_loaded() noexcept {
    static constinit flameprobe_core table{};
    table.scopes_in_use = [] { return 1; };
    return &table;
}

}  // namespace flameprobe
