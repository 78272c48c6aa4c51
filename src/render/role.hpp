// The role of a function: the user's own code, a library's, or glue that only leads from one to the other. It decides
// the colour, and which frames the page folds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

enum class Role : std::uint8_t {
    own,      // code of the program: its executable, and libraries that lie beside it
    library,  // any other file's code, and templates of libraries wherever they were instantiated
    glue,     // starts threads and forwards calls: std::__invoke, start_thread, tokio::runtime
    kernel,
    scope,
    note,  // time that is not known, and that alone is grey
    thread,
    waiting,    // off a CPU, in a system call
    preempted,  // could have run
    held,       // waits for a lock: what its holder does
};

/// Whether a program by this name runs other programs: "python3.11".
bool is_interpreter(std::string_view program);

/// How a role is called, and the letters of its colours' classes (palette.hpp).
struct RoleLook {
    Role role;
    std::string_view text;
    char letter, inlined;
};
const RoleLook& look_of(Role role);

/// The role of each of the profile's functions. Without a module (folded text) the name alone tells.
std::vector<Role> function_roles(const NamedProfile& profile);

/// Of a frame of FlameProbe's own ("[kernel: read]", "futex" in a picture of waiting time, "[lost]"), by its text.
Role role_of_note(std::string_view text);

}  // namespace flameprobe
