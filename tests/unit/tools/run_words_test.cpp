#include "run_words.hpp"

#include <doctest/doctest.h>

#include "export/folded_reader.hpp"

using namespace flameprobe;

namespace {

NamedProfile profile_of(const std::string& folded) {
    NamedProfile profile;
    FoldedReader reader(profile, "test");
    reader.feed(folded);
    REQUIRE(reader.finish());
    return profile;
}
std::string better(const std::string& folded, std::uint64_t samples = 1000, const std::string& names = {},
                   bool brief = false) {
    return what_would_be_better(profile_of(folded), samples, names, brief);
}

}  // namespace

TEST_CASE("what would make a picture better is one thing, and nothing where little is missing") {
    CHECK(better("t;main;parse 95\nt;main;[libz.so.1+0x4970] 5\n").empty());
    CHECK(better("t;main;[libz.so.1+0x4970] 20\nt;main;[libx.so+0x10] 5\nt;main;parse 75\n")
              .starts_with("better: 25.0 % is in functions without names, most of it of libz.so.1; "
                           "flameprobe doctor"));
    CHECK(better("t;main;[kernel: read] 20\nt;main;parse 80\n").find("kernel.perf_event_paranoid=1") !=
          std::string::npos);
    CHECK(better("t;[lost] 20\nt;main;parse 80\n").find("a lower -F") != std::string::npos);
    CHECK(better("t;[truncated];f 6\nt;main;parse 94\n").starts_with("better: 6.0 % of the time is [truncated], "));
    CHECK(better("t;[truncated];f 4\nt;main;parse 96\n").empty());
    CHECK(better("t;[callers read later];main;f 20\nt;main;parse 80\n").ends_with("a longer run proves their callers"));
    CHECK(
        better("t;f;[not sampled] 20\nt;main;parse 80\n").starts_with("better: no sample covers 20.0 % of the time; "));
    CHECK(
        better("t;f;[not sampled] 20\nt;main;parse 80\n", 1000, {}, true).ends_with("briefly; a higher -F takes more"));
    CHECK(better("t;main;[JIT code] 9\n", 9, "use --flag") == "better: use --flag");
}
