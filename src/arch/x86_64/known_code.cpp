#include "unwind/known_code.hpp"

namespace flameprobe {

// PLT stubs, _dl_runtime_resolve and __restore_rt have tables, and these are right.
bool known_code_rule(std::uint64_t, UnwindRule&) { return false; }
void mend_table_rule(UnwindRule&) {}

}  // namespace flameprobe
