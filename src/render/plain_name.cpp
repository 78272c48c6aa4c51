#include "render/plain_name.hpp"

#include <algorithm>
#include <array>

#include "base/paths.hpp"
#include "profile/names.hpp"
#include "render/describe.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr std::array<std::string_view, 47> allocators = {
    "malloc",
    "calloc",
    "realloc",
    "free",
    "cfree",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "__libc_malloc",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_free",
    "__libc_memalign",
    "__GI___libc_malloc",
    "__GI___libc_free",
    "_int_malloc",
    "_int_free",
    "_int_realloc",
    "_int_memalign",
    "malloc_consolidate",
    "unlink_chunk",
    "unlink_chunk.constprop.0",
    "unlink_chunk.isra.0",
    "sysmalloc",
    "systrim",
    "systrim.constprop.0",
    "systrim.isra.0",
    "tcache_get",
    "tcache_put",
    "tcache_init",
    "alloc_perturb",
    "free_perturb",
    "checked_request2size",
    "arena_get2",
    "_int_free_merge_chunk",
    "_int_free_create_chunk",
    "_int_free_maybe_consolidate",
    "__libc_free2",
    "__rust_alloc",
    "__rust_dealloc",
    "__rust_realloc",
    "__rust_alloc_zeroed",
    "__malloc_arena_thread_freeres",
    "tcache_key_initialize",
    "heap_trim",
};

constexpr std::array<std::string_view, 18> allocator_begins = {"operator new",
                                                               "operator delete",
                                                               "__rdl_",
                                                               "__rg_",
                                                               "je_",
                                                               "rjem_",
                                                               "_rjem_",
                                                               "mi_",
                                                               "tc_malloc",
                                                               "tcmalloc::",
                                                               "__gnu_cxx::new_allocator",
                                                               "std::__new_allocator",
                                                               "std::allocator",
                                                               "PyMem_",
                                                               "PyObject_Malloc",
                                                               "g_malloc",
                                                               "xmalloc",
                                                               "zmalloc"};

std::string_view without_closures(std::string_view name) {
    for (const std::string_view ending : {"::operator()", "::{{closure}}"})
        if (name.ends_with(ending) && name.find('{') != name.npos)
            return without_closures(name.substr(0, name.size() - ending.size()));
    const std::size_t brace = name.rfind("::{");
    return brace != name.npos && brace != 0 && name.ends_with('}') ? without_closures(name.substr(0, brace)) : name;
}

}  // namespace

bool is_allocator(std::string_view name) {
    return std::ranges::find(allocators, name) != allocators.end() ||
           std::ranges::any_of(allocator_begins, [&](std::string_view begin) { return name.starts_with(begin); });
}

bool is_dispatch(std::string_view name) {
    constexpr std::array<std::string_view, 12> begins = {"_PyEval_",     "PyEval_",     "_PyObject_", "PyObject_Call",
                                                         "PyObject_Vec", "_PyFunction", "Py_RunMain", "Py_BytesMain",
                                                         "pymain_",      "_PyRun_",     "PyRun_",     "PyVectorcall_"};
    return std::ranges::any_of(begins, [&](std::string_view begin) { return name.starts_with(begin); });
}

bool is_libc(std::string_view module) {
    const std::string_view file = base_name(module);
    return file.starts_with("libc.") || file.starts_with("libc-2") || file.starts_with("libpthread") ||
           file.starts_with("ld-musl");
}

std::string_view without_variant(std::string_view name) {
    if (!name.starts_with("__")) return name;
    std::size_t end = name.npos;
    for (const std::string_view variant : {"_avx", "_sse", "_evex", "_ssse3", "_generic", "_fma", "_asimd"})
        end = std::min(end, name.find(variant));
    return end == name.npos ? name : name.substr(2, end - 2);
}

bool is_closure_of(std::string_view name, std::string_view function) {
    if (name.find('{') == name.npos && name.find("<lambda") == name.npos) return false;
    const std::string whole = short_name(name), outer = short_name(function);
    return whole.size() > outer.size() + 3 && whole.starts_with(outer) &&
           std::string_view(whole).substr(outer.size()).starts_with("::{");
}

std::string plain_name(const NamedProfile& profile, FunctionId function) {
    const std::string brief = short_name(profile, function);
    if (brief.starts_with("alloc::fmt::format")) return "format!";
    std::string_view name = without_closures(without_variant(brief));
    name = without_glibc_alias(name);
    if (is_libc(profile.strings.view(profile.functions[function].module)) && name.starts_with("__"))
        name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
    return clean_text(name);
}

std::string nameless_file(const NamedProfile& profile, FunctionId function) {
    const std::string_view name = profile.strings.view(profile.functions[function].name);
    if (name == nameless_jit_code) return std::string(jit_code);
    const std::string file = module_name(profile, profile.strings.view(profile.functions[function].module));
    // CPython's modules have the interpreter's version and the machine in their names.
    if (const std::size_t tag = file.find(".cpython-"); tag != file.npos)
        return clean_text(file.substr(0, tag)) + ".so";
    if (!file.empty()) return clean_text(file);
    const std::size_t address = name.rfind("+0x");
    if (name.starts_with(unknown_prefix))
        return clean_text(name.substr(unknown_prefix.size(), name.size() - unknown_prefix.size() - 1));
    return clean_text(address == name.npos ? name : name.substr(1, address - 1));
}

}  // namespace flameprobe
