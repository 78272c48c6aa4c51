#include "attach/refusal.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace flameprobe;

TEST_CASE("what hides a process's memory is named with what mends it") {
    const std::string by_yama = hidden_memory(1);
    CHECK(by_yama.find(
              "kernel.yama.ptrace_scope is 1 (sysctl kernel.yama.ptrace_scope=0 allows it, or attach as root)") !=
          by_yama.npos);
    for (const auto scope : {std::optional<long>(), std::optional<long>(0)}) {
        CHECK(hidden_memory(scope).find("--cap-add SYS_PTRACE") != std::string::npos);
        CHECK(hidden_memory(scope).find("yama") == std::string::npos);
    }
    CHECK(what_stays_hidden(::getpid()).empty());
}
