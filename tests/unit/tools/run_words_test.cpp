#include "run_words.hpp"

#include <doctest/doctest.h>

#include "export/folded_reader.hpp"

using namespace flameprobe;

namespace {

std::string words_of(const std::string& folded) {
    NamedProfile profile;
    FoldedReader reader(profile, "test");
    reader.feed(folded);
    REQUIRE(reader.finish());
    return where_the_time_went(profile);
}

}  // namespace

TEST_CASE("where the time went is told by functions, and by system calls with who made them") {
    CHECK(words_of("t;main;parse 62\nt;main;Queue::pop;[kernel: futex] 21\nt;main;a 10\nt;main;b 7\n") ==
          "62 % parse, 21 % futex in Queue::pop, 10 % a");
    CHECK(words_of(
              "t;main;get;entry_SYSCALL_64_[k];__x64_sys_read_[k];copy_[k] 3\nt;main;get;entry_SYSCALL_64_[k] 1\n") ==
          "75 % read in get, 25 % kernel in get");
    CHECK(words_of("t;main;f;g_[i] 50\nt;main;h;g_[i] 49\nt;x 1\n") == "99 % g");
    CHECK(words_of("t;[kernel: execve] 4\n") == "100 % execve");
}
