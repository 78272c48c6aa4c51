// Facts about a program before it runs.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace flameprobe {

/// Finds a program as a shell does, by path or in PATH. Empty if there is none.
std::string find_program(const std::string& name);

struct ElfFacts {
    std::string path;            // without symbolic links
    std::string loader;          // its interpreter
    bool dynamic = false;        // it has an interpreter, so LD_PRELOAD works
    bool symbol_table = false;   // .symtab, also as .gnu_debugdata
    bool debug_info = false;     // its own, or in a file that was found
    bool unwind_tables = false;  // .eh_frame
    bool has_build_id = false;
    bool privileged = false;  // set-user-id, set-group-id or capabilities: the loader then ignores LD_PRELOAD paths
    std::string debug_file;   // where debug information was found, if not in the file itself
};

Result<ElfFacts> elf_facts(const std::string& path);

/// The interpreter of a script ("#!"), empty if the file is none.
std::string script_interpreter(const std::string& path);

/// A line where the program's allocations cannot be seen; else empty.
std::string allocator_note(const std::string& name);

struct PreloadObstacle {
    std::string why;  // one line if the library cannot be preloaded into this program; else empty
    /// Its loader would complain of a library that is not for it: LD_PRELOAD is best left alone.
    bool other_loader = false;
    bool from_outside = false;  // `flameprobe run` records it as `flameprobe attach` does
};
PreloadObstacle preload_obstacle(const std::string& name);

/// The libraries that the dynamic loader would load for the program, as the loader lists them.
std::vector<std::string> libraries_of(const std::string& path);

}  // namespace flameprobe
