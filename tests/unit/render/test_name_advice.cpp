#include <doctest/doctest.h>

#include "profile_of.hpp"
#include "render/flame_graph.hpp"
#include "render/run_facts.hpp"

using namespace flameprobe;
using test::ProfileOf;

namespace {

/// `memory`: what the kernel calls memory without a file; it may have no name at all.
std::string advice_for(const std::string& executable, const std::string& folded, const char* memory) {
    ProfileOf made;
    made.folded(folded);
    made.profile.has_run = true;
    made.profile.run.executable = executable;
    for (Function& function : made.profile.functions) {
        const std::string_view name = made.profile.strings.view(function.name);
        if (name.starts_with("0x") || name == "[JIT code]" || name.starts_with("JS:") || name.starts_with("py::"))
            function.module = made.profile.strings.intern(memory);
    }
    const std::string text = name_advice(made.profile);
    bool told = false;
    for (const Fact& fact : run_facts(made.profile)) told = told || (fact.label == "Names" && fact.value == text);
    CHECK(told == !text.empty());
    if (told) CHECK(facts_need_names(made.profile));
    std::string page;
    CHECK(write_html(made.profile, {}, [&](std::string_view piece) { page += piece; }));
    // In sight before anything is opened.
    CHECK((page.find("<summary>How this was measured. " + text + "</summary>") != page.npos) == told);
    return text;
}

std::string advice(const std::string& executable, const std::string& folded) {
    std::string text = advice_for(executable, folded, "//anon");
    CHECK(advice_for(executable, folded, "") == text);
    return text;
}

}  // namespace

TEST_CASE("facts need names where they tell of virtual machines or of locks") {
    NamedProfile profile;
    profile.run.executable = "/usr/bin/shop";
    profile.mappings.push_back({MappingKind::file, 0x1000, 0x1000, 0, 0, "/usr/lib/libc.so.6", ""});
    CHECK(!facts_need_names(profile));
    profile.mappings.push_back({MappingKind::note, 0, 0, 0, 0, "[held by main]", ""});
    CHECK(facts_need_names(profile));
    profile.mappings.back() = {MappingKind::file, 0x1000, 0x1000, 0, 0, "/usr/lib/libcoreclr.so", ""};
    CHECK(facts_need_names(profile));
}

TEST_CASE("code of a virtual machine without names: the flag that gives them") {
    CHECK(advice("/usr/bin/node", "t:node;main;0x7f01;0x7f02 3\nt:node;main;uv_run 7\n") ==
          "30.0 % of the time is in or below JavaScript functions without names; with names: node --perf-basic-prof "
          "--interpreted-frames-native-stack");
    CHECK(advice("/usr/bin/node", "t:node;main;[JIT code];v8::parse 3\nt:node;main;uv_run 7\n").starts_with("30.0 % "));
    CHECK(advice("/usr/lib/jvm/bin/java", "t:java;start_thread;[JIT code] 5\n").find("PreserveFramePointer") !=
          std::string::npos);
    CHECK(advice("/usr/bin/python3.12", "t:p;main;_PyEval_EvalFrameDefault;list_sort 5\n").find("python3 -X perf") !=
          std::string::npos);
}

TEST_CASE("no advice where names are there, where there is little of it, and for other programs") {
    CHECK(advice("/usr/bin/node", "t:node;main;0x7f01 3\nt:node;main;JS:~fib 7\n").empty());
    CHECK(advice("/usr/bin/python3.12", "t:p;_PyEval_EvalFrameDefault;py::work:/w.py;_PyEval_EvalFrameDefault 9\n")
              .empty());
    CHECK(advice("/usr/bin/node", "t:node;main;0x7f01 1\nt:node;main;uv_run 9\n").empty());
    CHECK(advice("/usr/bin/server", "t:s;main;0x7f01 3\n").empty());
}

TEST_CASE("the flag of a language is known by the name of its program") {
    CHECK(names_flag("node").language == "JavaScript");
    CHECK(names_flag("python3.12").advice == "python3 -X perf (3.12 and later)");
    CHECK(names_flag("luajit-2.1").language == "LuaJIT");
    CHECK(names_flag("dotnet").language == ".NET");
    CHECK(names_flag("java").language == "Java");
    CHECK(names_flag("server").language.empty());
}
