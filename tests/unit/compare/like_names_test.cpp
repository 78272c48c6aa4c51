#include "compare/like_names.hpp"

#include <doctest/doctest.h>

using namespace flameprobe;

TEST_CASE("parts, copies, versions and hashes are of their function") {
    CHECK(whole_function("parse.cold") == "parse");
    CHECK(whole_function("parse.part.0.isra.3.constprop.12") == "parse");
    CHECK(whole_function("parse(int) [clone .part.0] [clone .cold]") == "parse(int)");
    CHECK(whole_function("std::sort(int*) (.llvm.1234)") == "std::sort(int*)");
    CHECK(whole_function("shop::sell::h0123456789abcdef") == "shop::sell");
    CHECK(whole_function("memcpy@@GLIBC_2.14") == "memcpy");
    CHECK(whole_function("memcpy@plt") == "memcpy@plt");
    CHECK(whole_function("__GI___libc_write") == "__libc_write");
    CHECK(whole_function("JS:*parse /srv/cart.js:3:12") == "JS:parse /srv/cart.js:3:12");
    CHECK(whole_function("[libz.so.1.2.13+0x57e0]") == "[libz.so.1.2.13+0x57e0]");
    CHECK(whole_function("operator new(unsigned long)") == "operator new(unsigned long)");
    CHECK(whole_function(".cold") == ".cold");
    CHECK(whole_function("sha256") == "sha256");
}

TEST_CASE("template arguments, lambda numbers and addresses are noise") {
    CHECK(loose_name("f<int>(int)") == loose_name("f<long>(long)"));
    CHECK(loose_name("run()::{lambda()#1}::operator()() const") ==
          loose_name("run()::{lambda()#2}::operator()() const"));
    CHECK(loose_name("run()::$_0::operator()() const") == loose_name("run()::{lambda()#1}::operator()() const"));
    CHECK(loose_name("stub_0x7f12ab") == loose_name("stub_0x55aa00"));
    CHECK(loose_name("first") != loose_name("second"));
    CHECK(loose_name("sha256") != loose_name("sha512"));
}

TEST_CASE("code without a name is known by its file") {
    CHECK(unnamed_file("[libz.so.1.2.13+0x57e0]") == "[libz.so]");
    CHECK(unnamed_file("[server-1.24.0+0x1000]") == "[server]");
    CHECK(unnamed_file("[cc1+0x1000]") == "[cc1]");
    CHECK(unnamed_file("[lost]").empty());
    CHECK(unnamed_file("main").empty());
}

TEST_CASE("numbers of threads and processes decide nothing") {
    CHECK(thread_role("worker-17") == "worker-*");
    CHECK(thread_role("pool-3-thread-12") == "pool-*-thread-*");
    CHECK(thread_role("main") == "main");
    CHECK(thread_role("7zip") == "7zip");
    CHECK(process_role("nginx: worker process 4711") == "nginx: worker process");
    CHECK(process_role("cc1 × 96") == "cc1");
    CHECK(process_role("python3.11") == "python3.11");
}
