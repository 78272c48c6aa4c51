// One step over a frame that no UnwindRule can describe: by the table's expressions, worked out anew each time.
#pragma once

#include <optional>

#include "base/registers.hpp"
#include "unwind/cfi_tables.hpp"
#include "unwind/cursor.hpp"
#include "unwind/stack_reader.hpp"

namespace flameprobe {

/// One thread only.
class IrregularStepper {
public:
    /// Both must outlive it. The owner of `modules` must make that forget what was unmapped.
    IrregularStepper(const CodeMap& map, ModuleTable& modules) : map_(map), modules_(modules) {}

    /// Moves the cursor to its frame's caller, or says why it cannot. `all` are the thread's registers, null once the
    /// walk has left the frame they belong to: then only the cursor's are known.
    std::optional<WalkEnd> step(Cursor& cursor, const Registers* all, StackReader& stack);

private:
    const CodeMap& map_;
    ModuleTable& modules_;
};

}  // namespace flameprobe
