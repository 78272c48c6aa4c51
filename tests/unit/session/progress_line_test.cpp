// What a user at a terminal sees while the collector, which has descriptors of its own, names functions.
#include "session/progress_line.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "sandbox/isolation.hpp"
#include "session/log.hpp"

using namespace flameprobe;
using namespace std::chrono_literals;

namespace {

/// A terminal in the place of this program's stderr, while it lives.
class TerminalAsStderr {
public:
    TerminalAsStderr() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)), before_(::dup(STDERR_FILENO)) {
        REQUIRE(master_);
        REQUIRE(::grantpt(master_.get()) == 0);
        REQUIRE(::unlockpt(master_.get()) == 0);
        const Descriptor slave(::open(::ptsname(master_.get()), O_RDWR | O_NOCTTY));
        REQUIRE(::dup2(slave.get(), STDERR_FILENO) == STDERR_FILENO);
    }
    ~TerminalAsStderr() { ::dup2(before_.get(), STDERR_FILENO); }

    std::string seen() const {
        char buffer[4096];
        const ssize_t size = ::read(master_.get(), buffer, sizeof buffer);
        return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
    }

private:
    Descriptor master_, before_;
};

/// Shows two steps, as the collector's thread would.
void work_apart(const Log& log, std::chrono::milliseconds quiet) {
    std::thread([&] {
        isolate_this_thread();
        ProgressLine line(log.terminal(), quiet);
        line.show(1, 20);
        line.show(2, 20);  // within a tenth of a second: not shown, unless the machine is very busy
    }).join();
}

}  // namespace

TEST_CASE("long work is shown on the terminal that is the host's stderr, and erased afterwards") {
    const TerminalAsStderr terminal;
    const Log log(LogMode::automatic, "");
    work_apart(log, 0ms);
    const std::string seen = terminal.seen();
    CHECK(seen.starts_with("\r\x1b[Kflameprobe: naming functions: 1 of 20"));
    CHECK(seen.ends_with("\r\x1b[K"));
}

TEST_CASE("short work is not shown") {
    const TerminalAsStderr terminal;
    work_apart(Log(LogMode::automatic, ""), 10min);
    CHECK(terminal.seen().empty());
}

TEST_CASE("progress is shown only where messages are") {
    const TerminalAsStderr terminal;
    CHECK_FALSE(Log(LogMode::quiet, "").terminal());
    CHECK_FALSE(Log(LogMode::file, "/dev/null").terminal());
    CHECK(Log(LogMode::standard_error, "").terminal());
}

TEST_CASE("nothing is shown on a stderr that has been replaced since, or is no terminal") {
    const TerminalAsStderr first;
    const Log taken_over(LogMode::automatic, "");
    {
        const TerminalAsStderr another;
        CHECK_FALSE(taken_over.terminal());
    }
    CHECK(taken_over.terminal());
    const Descriptor before(::dup(STDERR_FILENO)), nothing(::open("/dev/null", O_WRONLY));
    ::dup2(nothing.get(), STDERR_FILENO);
    const Log log(LogMode::automatic, "");
    ::dup2(before.get(), STDERR_FILENO);
    CHECK_FALSE(log.terminal());
}
