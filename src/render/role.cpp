#include "render/role.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/paths.hpp"

namespace flameprobe {

namespace {

bool starts_with_any(std::string_view text, const auto& beginnings) {
    return std::ranges::any_of(beginnings, [&](std::string_view one) { return text.starts_with(one); });
}

// Whole names of functions that start threads and programs.
constexpr std::array<std::string_view, 17> starts = {
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_main@@GLIBC_2.34",
    "clone",
    "__clone",
    "__libc_start_call_main",
    "start_thread",
    "clone3",
    "__clone3",
    "execute_native_thread_routine",
    "std::execute_native_thread_routine",
    "__GI___clone3",
    "__GI___clone",
    "__clone_internal",
    "thread_start",
    "__rust_try",
};

constexpr std::array<std::string_view, 30> forwarders = {
    "std::__invoke",
    "std::invoke",
    "std::__detail::__variant::__do_visit",
    "std::__detail::__variant::__gen_vtable",
    "std::_Function_handler<",
    "std::_Function_base",
    "std::function<",
    "std::thread::_Invoker",
    "std::thread::_State",
    "std::_Bind",
    "std::__future_base",
    "std::__apply_impl",
    "std::apply<",
    "std::__do_visit",
    "std::visit<",
    "std::__invoke_impl",
    "std::packaged_task",
    "std::reference_wrapper",
    "std::mem_fn",
    "std::_Mem_fn",
    // Rust: its standard library's own frames around main and threads, and tokio's around tasks.
    "std::rt::",
    "std::sys_common::backtrace",
    "std::sys::backtrace",
    "std::panicking::",
    "std::panic::",
    "std::sys::thread",
    "std::sys::pal::unix::thread",
    "std::sys::unix::thread",
    "core::ops::function::",
    "tokio::runtime::",
};

constexpr std::array<std::string_view, 14> rust_glue = {
    "std::thread::Builder",
    "std::thread::spawn",
    "std::thread::local::LocalKey",
    "std::thread::lifecycle",
    "tokio::task::",
    "tokio::util::",
    "tokio::loom::",
    "tokio::macros::scoped_tls",
    "tokio::future::",
    "core::panic::unwind_safe",
    "core::future::",
    "__rust_begin_short_backtrace",
    "__rust_end_short_backtrace",
    "lang_start",
};

constexpr std::array<std::string_view, 14> library_names = {
    "std::",        "__gnu_cxx::",         "boost::",    "fmt::",  "core::",
    "alloc::",      "hashbrown::",         "tokio::",    "mio::",  "absl::",
    "__cxxabiv1::", "compiler_builtins::", "nlohmann::", "folly::"};

// Directories of distributions, package managers and compilers, whose code is not the user's.
constexpr std::array<std::string_view, 7> system_directories = {"/usr/lib", "/lib",  "/usr/local/lib", "/nix/store/",
                                                                "/snap/",   "/opt/", "[vdso]"};
constexpr std::array<std::string_view, 4> foreign_sources = {"/.cargo/registry/", "/rustc/", "/usr/include/",
                                                             "/usr/share/cargo/registry/"};

// Programs that run other programs: what is their own is not the user's.
constexpr std::array<std::string_view, 12> interpreters = {"node",   "java", "python", "perl",    "ruby",     "php",
                                                           "luajit", "lua",  "dotnet", "Rscript", "beam.smp", "julia"};

/// `<alloc::vec::Vec<T> as core::ops::Drop>::drop` begins with the text in its brackets.
std::string_view without_bracket(std::string_view name) {
    while (name.starts_with('<') || name.starts_with('&')) name.remove_prefix(1);
    if (name.starts_with("dyn ")) name.remove_prefix(4);
    return name;
}

/// Whether a function by that name (demangled, whole) only starts threads or forwards calls.
bool is_glue(std::string_view name) {
    if (name.ends_with("@plt")) return true;
    if (std::ranges::find(starts, name) != starts.end()) return true;
    const std::string_view inner = without_bracket(name);
    if (starts_with_any(inner, forwarders) || starts_with_any(inner, rust_glue)) return true;
    return name.find(" as core::ops::function::Fn") != name.npos ||
           name.find("__rust_begin_short_backtrace") != name.npos;
}

class Roles {
public:
    explicit Roles(const NamedProfile& profile) : profile_(profile) {
        if (!profile.has_run) return;
        if (profile.programs.empty()) add_program(profile.run.executable);
        for (const auto& [path, name] : profile.programs) add_program(path);
    }

    Role of(const Function& function) const {
        switch (function.kind) {
            case FrameKind::kernel:
                return Role::kernel;
            case FrameKind::scope:
                return Role::scope;
            case FrameKind::note:
                return role_of_note(profile_.strings.view(function.name));
            case FrameKind::thread:
                return Role::thread;
            case FrameKind::held:
                return Role::held;
            default:
                break;
        }
        const std::string_view name = profile_.strings.view(function.name);
        if (is_glue(name)) return Role::glue;
        if (starts_with_any(without_bracket(name), library_names) || from_elsewhere(function)) return Role::library;
        return is_own_module(profile_.strings.view(function.module), name) ? Role::own : Role::library;
    }

private:
    /// A shared library that was built with a program lies at most one directory away from it.
    void add_program(std::string_view path) {
        programs_.insert(path);
        const std::string_view home = directory_of(path);
        if (home.size() < 2 || home == "/usr/bin/" || home == "/bin/" || home == "/usr/sbin/") return;
        const std::string_view above = directory_of(home.substr(0, home.size() - 1));
        near_.insert(above.size() > 1 ? above : home);
    }
    bool from_elsewhere(const Function& function) const {
        const std::string_view file = profile_.strings.view(function.file);
        return std::ranges::any_of(foreign_sources,
                                   [&](std::string_view part) { return file.find(part) != file.npos; });
    }
    bool is_own_module(std::string_view module, std::string_view name) const {
        if (module.empty()) return !name.starts_with('[') || name.find(".so") == name.npos;
        if (is_interpreter(base_name(module))) return false;
        if (programs_.contains(module)) return true;
        if (starts_with_any(module, system_directories)) return false;
        return module.find(".so") == module.npos || starts_with_any(module, near_);
    }

    const NamedProfile& profile_;
    std::set<std::string_view> programs_, near_;
};

}  // namespace

bool is_interpreter(std::string_view program) {
    return std::ranges::any_of(interpreters, [&](std::string_view one) {
        return program.starts_with(one) && program.find_first_not_of("0123456789.", one.size()) == program.npos;
    });
}

const RoleLook& look_of(Role role) {
    static constexpr std::array<RoleLook, 10> looks = {{{Role::own, "own code", 'u', 'v'},
                                                        {Role::library, "libraries", 'l', 'j'},
                                                        {Role::glue, "glue", 'x', 'y'},
                                                        {Role::kernel, "kernel", 'k', 'k'},
                                                        {Role::scope, "scope", 's', 's'},
                                                        {Role::note, "not known", 'n', 'n'},
                                                        {Role::thread, "process, thread", 't', 't'},
                                                        {Role::waiting, "waiting", 'w', 'w'},
                                                        {Role::preempted, "preempted", 'q', 'q'},
                                                        {Role::held, "waiting for its holder", 'h', 'h'}}};
    return *std::ranges::find(looks, role, &RoleLook::role);
}

Role role_of_note(std::string_view text) {
    if (text == "[kernel]" || text.starts_with("[kernel: ")) return Role::kernel;
    if (text == "[preempted]") return Role::preempted;
    if (text.starts_with("[held by ") || text == "[deadlock]" || text.starts_with("[its CPU sample "))
        return Role::held;
    return text.starts_with('[') ? Role::note : Role::waiting;  // a system call's name
}

std::vector<Role> function_roles(const NamedProfile& profile) {
    const Roles roles(profile);
    std::vector<Role> all;
    all.reserve(profile.functions.size());
    for (const Function& function : profile.functions) all.push_back(roles.of(function));
    return all;
}

}  // namespace flameprobe
