// One step by libunwind's remote interface over a copied stack: for frames that no UnwindRule can describe, and as a
// second opinion in tests.
#pragma once

#include <memory>
#include <optional>

#include "base/registers.hpp"
#include "unwind/cfi_tables.hpp"
#include "unwind/cursor.hpp"
#include "unwind/stack_reader.hpp"

namespace flameprobe {

/// One thread only.
class LibunwindStepper {
public:
    /// Both must outlive it. The owner of `modules` must make that forget what was unmapped.
    LibunwindStepper(const CodeMap& map, ModuleTable& modules);
    ~LibunwindStepper();

    /// Moves the cursor to its frame's caller, or says why it cannot. `all` are the thread's registers, null once the
    /// walk has left the frame they belong to: then only the cursor's are known.
    std::optional<WalkEnd> step(Cursor& cursor, const Registers* all, StackReader& stack);

private:
    class Space;
    std::unique_ptr<Space> space_;
};

}  // namespace flameprobe
