#include <doctest/doctest.h>

#include "profile_of.hpp"
#include "render/describe.hpp"
#include "render/role.hpp"

using namespace flameprobe;

TEST_CASE("short names have no arguments, return types and hashes") {
    const std::pair<const char*, const char*> names[] = {
        {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)",
         "std::string::append"},
        {"std::basic_string_view<char, std::char_traits<char> >::find", "std::string_view::find"},
        {"std::__cxx11::basic_string<wchar_t>::size", "std::wstring::size"},
        {"std::map<std::string, Item, std::less<std::string> >::find(std::string const&) const", "std::map::find"},
        {"void shop::Server::answer<int, 3>(shop::Request const&)", "shop::Server::answer"},
        {"std::string shop::name(int)", "shop::name"},
        {"shop::make[abi:cxx11](int)", "shop::make"},
        {"bool operator< <int>(A<int> const&, A<int> const&)", "operator<"},
        {"Foo::operator()(int) const", "Foo::operator()"},
        {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<"},
        {"std::less<std::string>::operator() const", "std::less::operator()"},
        {"Foo::operator bool() const", "Foo::operator bool"},
        {"operator new(unsigned long)", "operator new"},
        {"Ptr<int>::operator->() const", "Ptr::operator->"},
        {"main::{lambda(int, Foo<int> const&)#2}::operator()(int) const", "main::{lambda#2}::operator()"},
        {"f(int)::{lambda()#1}::operator()() const", "f::{lambda#1}::operator()"},
        {"serve()::{lambda()#1}::operator()() const::{lambda(int)#2}::operator()(int) const",
         "serve::{lambda#1}::operator()::{lambda#2}::operator()"},
        {"void Shop::each<int>(int) const::{lambda(auto:1)#1}::operator()<int>(int) const::{lambda()#1}::operator()() "
         "const",
         "Shop::each::{lambda#1}::operator()::{lambda#1}::operator()"},
        {"Shop::name[abi:cxx11]() const &::{lambda()#1}::operator()() const", "Shop::name::{lambda#1}::operator()"},
        {"(anonymous namespace)::Parser::parse(std::string_view)", "(anonymous namespace)::Parser::parse"},
        {"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", "alloc::vec::Vec::drop"},
        {"<&mut F as core::future::Future>::poll", "F::poll"},
        {"core::ptr::drop_in_place<alloc::string::String>::h0123456789abcdef", "core::ptr::drop_in_place"},
        {"server::handle::<u8>", "server::handle"},
        {"server::main::{closure#0}", "server::main::{closure#0}"},
        {"main.(*Server).serve", "main.(*Server).serve"},
        {"f<(A > B)>(int)", "f"},
        {"unbalanced<int", "unbalanced<int"},
        {"operator", "operator"},
        {"a;b c 12", "a;b c 12"},
        {"", ""},
    };
    for (const auto& name : names) {
        CAPTURE(name.first);
        CHECK(short_name(name.first) == name.second);
    }
}

TEST_CASE("a label that is too long keeps its last component") {
    CHECK(fit_name("shop::Server::answer", 20) == "shop::Server::answer");
    CHECK(fit_name("shop::Server::answer", 19) == "…Server::answer");
    CHECK(fit_name("shop::Server::answer", 14) == "…answer");
    CHECK(fit_name("shop::Server::answer", 5) == "answ…");
    CHECK(fit_name("postgres: walwriter 4711", 15) == "…walwriter 4711");
    // A closure tells nothing without the function that it is in.
    CHECK(fit_name("forward::run::{{closure}}", 17) == "…run::{{closure}}");
    CHECK(fit_name("forward::run::{{closure}}", 9) == "run::{{c…");
    CHECK(fit_name("Server::handle::{lambda()#1}::operator()", 12) == "handle::{la…");
    CHECK(fit_name("forward::run::{{closure}}::inner", 9) == "…inner");
    CHECK(fit_name("[kernel: epoll_wait]", 8) == "epoll_w…");
    CHECK(fit_name("shop::Server::answer", 2) == "");
    CHECK(fit_name("a::", 2) == "");
    CHECK(fit_name("[libcrypto.so.3+0x1a2b40]", 25) == "[libcrypto.so.3+0x1a2b40]");
    CHECK(fit_name("[libcrypto.so.3+0x1a2b40]", 24) == "[libcrypto.so…+0x1a2b40]");
    CHECK(fit_name("[libcrypto.so.3+0x1a2b40]", 11) == "…+0x1a2b40]");
    CHECK(fit_name("[libcrypto.so.3+0x1a2b40]", 10) == "[libcrypt…");
}

TEST_CASE("only functions of user code are renamed") {
    test::ProfileOf made;
    made.stack({"t:worker<1>", "f<int>", "k:sys<x>", "s:[scope<1>]", "n:[lost]"}, 1);
    shorten_names(made.profile);
    std::vector<std::string> names;
    for (const NamedNode& node : made.profile.nodes)
        if (&node != &made.profile.nodes[0]) names.emplace_back(made.profile.name(node.frame));
    CHECK(names == std::vector<std::string>{"worker<1>", "f", "sys<x>", "[scope<1>]", "[lost]"});
}

TEST_CASE("the C library's variants for different CPUs have the function's name") {
    test::ProfileOf made;
    made.stack({"main", "__memcmp_evex_movbe"}, 1).stack({"main", "__strlen_avx2"}, 1).stack({"main", "__own_avx2"}, 1);
    for (Function& function : made.profile.functions)
        if (made.profile.strings.view(function.name).find("own") == std::string_view::npos)
            function.module = made.profile.strings.intern("/usr/lib/x86_64-linux-gnu/libc.so.6");
    CHECK(short_name(made.profile, 1) == "memcmp");
    CHECK(short_name(made.profile, 2) == "strlen");
    CHECK(short_name(made.profile, 3) == "__own_avx2");
}

TEST_CASE("own code, libraries and glue are told apart by file and by name") {
    NamedProfile profile;
    profile.has_run = true;
    profile.run.executable = "/home/me/shop/build/server";
    const auto add = [&](const char* name, const char* module, const char* file = "") {
        profile.functions.push_back({.name = profile.strings.intern(name),
                                     .file = profile.strings.intern(file),
                                     .module = profile.strings.intern(module)});
    };
    add("answer", "/home/me/shop/build/server");
    add("price", "/home/me/shop/lib/libprice.so");
    add("std::map<int, int>::find", "/home/me/shop/build/server");
    add("malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6");
    add("start_thread", "/usr/lib/x86_64-linux-gnu/libc.so.6");
    add("std::__invoke_impl<void, void (*)()>", "/home/me/shop/build/server");
    add("<F as core::ops::function::FnOnce<()>>::call_once", "/home/me/shop/build/server");
    add("serde_json::from_str", "/home/me/shop/build/server", "/home/me/.cargo/registry/src/serde_json/de.rs");
    add("answer", "");
    add("[unknown in libcrypto.so.3]", "");
    add("operator new(unsigned long)@plt", "/home/me/shop/build/server");
    CHECK(function_roles(profile) == std::vector<Role>{Role::own, Role::own, Role::library, Role::library, Role::glue,
                                                       Role::glue, Role::glue, Role::library, Role::own, Role::library,
                                                       Role::glue});
}

TEST_CASE("what is an interpreter's own is not the user's code, what it made is") {
    for (const auto& [of_program, role] : {std::pair("/usr/bin/node", Role::library),
                                           {"/usr/bin/python3.11", Role::library},
                                           {"/usr/bin/perl", Role::library},
                                           {"/usr/bin/redis-server", Role::own},
                                           {"/usr/bin/phpdoc", Role::own}}) {
        const char* const program = of_program;  // clang 14 captures no structured binding
        CAPTURE(program);
        NamedProfile profile;
        profile.has_run = true;
        profile.run.executable = program;
        if (role == Role::library) profile.run.executable = "/usr/bin/bash";  // which started it
        for (const char* module : {program, "//anon"})
            profile.functions.push_back(
                {.name = profile.strings.intern("run"), .module = profile.strings.intern(module)});
        CHECK(function_roles(profile) == std::vector<Role>{role, Role::own});
    }
}

TEST_CASE("names of node's and Python's perf maps lose the directories of their files") {
    CHECK(short_name("JS:*parse /home/me/shop/cart.js:3:12") == "JS:*parse cart.js:3:12");
    CHECK(short_name("JS:~Module.load node:internal/modules/cjs/loader:1257:33") ==
          "JS:~Module.load node:internal/modules/cjs/loader:1257:33");
    CHECK(short_name("py::work:/home/me/w.py") == "py::work:w.py");
}
