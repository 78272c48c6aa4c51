#include "symbolize/demangle.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using flameprobe::demangle;

namespace {

/// RFC 2603: 0 is the empty string, and the others are one less.
std::string base_62(std::size_t number) {
    if (number == 0) return "";
    const char* digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string text;
    for (std::size_t rest = number - 1;; rest /= 62) {
        text.insert(text.begin(), digits[rest % 62]);
        if (rest < 62) return text;
    }
}

}  // namespace

TEST_CASE("C++ names keep their template arguments and lose their parameters") {
    CHECK(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi") == "std::vector<int, std::allocator<int> >::push_back");
    CHECK(demangle("_ZN12_GLOBAL__N_16hiddenEi") == "(anonymous namespace)::hidden");
    CHECK(demangle("_Z3maxIlET_S0_S0_") == "max<long>");
    CHECK(demangle("_ZN4shop6BasketC1Ei") == "shop::Basket::Basket");
    CHECK(demangle("_ZN4shop6BasketD0Ev") == "shop::Basket::~Basket");
    CHECK(demangle("_ZZ11with_lambdaiENKUliE_clEi") == "with_lambda(int)::{lambda(int)#1}::operator()");
    CHECK(demangle("_ZlsRSoRK3Foo") == "operator<<");
    CHECK(demangle("_ZNK3FoocvbEv") == "Foo::operator bool");
    CHECK(demangle("_ZThn16_N3Foo3runEv") == "non-virtual thunk to Foo::run");
}

TEST_CASE("Rust names lose their hash") {
    CHECK(demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE") == "core::fmt::Formatter::pad");
    CHECK(demangle(
              "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE") ==
          "<Test + 'static as foo::Bar<Test>>::bar");
    // From RFC 2603 and rustc's own tests of the v0 mangling.
    CHECK(demangle("_RNvC6_123foo3bar") == "123foo::bar");
    CHECK(demangle("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate") ==
          "<std::path::PathBuf>::new");
    CHECK(
        demangle("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std") ==
        "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
    CHECK(demangle("_RNCNvC4demo4mains_0") == "demo::main::{closure#1}");
}

TEST_CASE("D names lose their parameters") {
    CHECK(demangle("_D3std5stdio7writelnFZv") == "std.stdio.writeln");
    CHECK(demangle("_D4demo3addFiiZi") == "demo.add");
    CHECK(demangle("_D8demangle9__T4testZ4testFZv") == "demangle.test!().test");
    CHECK(demangle("_Dmain") == "D main");
}

TEST_CASE("a compiler's clones have the name of their function") {
    CHECK(demangle("work.cold") == "work");
    CHECK(demangle("work.part.0") == "work");
    CHECK(demangle("work.isra.0.cold") == "work");
    CHECK(demangle("work.constprop.12.isra.3") == "work");
    CHECK(demangle("work.lto_priv.0") == "work");
    CHECK(demangle("work.llvm.1234567890") == "work");
    CHECK(demangle("_ZN4shop6Basket5totalEi.cold") == "shop::Basket::total");
    CHECK(demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123") == "core::fmt::Formatter::pad");
    CHECK(demangle("_RNvC6_123foo3bar.llvm.9D1C9369") == "123foo::bar");
}

TEST_CASE("other names come back as they are") {
    for (const char* name : {"", "main", "memcpy", "_start", "__libc_start_main", "a.b", ".text", "version.2", "_Z",
                             "_R", "_D", "_ZN", "_Znonsense", "x.0", ".cold", "\xff\xfe bytes", "_RNvC6_123foo3ba"})
        CHECK(demangle(name) == name);
}

TEST_CASE("names built to exhaust a demangler are returned") {
    CHECK(!demangle("_Z" + std::string(100000, 'P') + "i").empty());
    CHECK(!demangle("_ZN" + std::string(50000, 'S') + "E").empty());
    CHECK(!demangle(std::string(1 << 20, 'x')).empty());
    // Sixty pairs, each of two of the pair before: 2^60 elements if written out.
    std::string pairs = "_RMC0";
    std::vector<std::size_t> starts;
    for (int i = 0; i < 60; ++i) {
        starts.push_back(pairs.size() - 2);  // positions count from behind _R
        pairs += "T";
    }
    pairs += "u";
    for (int i = 60; i-- > 0;)
        pairs += "B" + base_62(i + 1 < 60 ? starts[static_cast<std::size_t>(i) + 1] : pairs.size() - 3) + "_E";
    CHECK(demangle(pairs) == pairs);
    // As many associative arrays in D, each of two of the one before.
    std::string arrays = "_D1f1gFHii";
    for (std::size_t i = 0; i < 60; ++i) {
        const char back[] = {'Q', static_cast<char>('a' + (i == 0 ? 4 : 6)), '\0'};
        (arrays += "H" + std::string(back)) += std::string("Q") + static_cast<char>('a' + (i == 0 ? 6 : 8));
    }
    arrays += "Zv";
    CHECK(demangle(arrays) == arrays);
    std::string nested = "_RNvC1a";
    for (int i = 0; i < 2000; ++i) nested += "INvC1a1b";
    CHECK(!demangle(nested).empty());
}
