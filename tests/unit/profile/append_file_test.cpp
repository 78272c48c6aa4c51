
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include "example.hpp"
#include "outside/reader.hpp"
#include "profile/writer.hpp"
#include "recorded.hpp"
#include "temporary_file.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// Files of this process cannot grow beyond `bytes` while it lives: as on a full disk.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("a write that does not fit leaves the file whole, raises no signal, and can be tried again") {
    const TemporaryFile file;
    AppendFile out(file.open());
    REQUIRE(out.append("0123456789"));
    {
        // SIGXFSZ has its default action here: it would end the test program.
        const FileSizeLimit limit(15);
        const auto result = out.append("abcdefghij");
        REQUIRE_FALSE(result);
        CHECK(result.error().message.find("File too large") != std::string::npos);
        CHECK(file.bytes() == "0123456789");
        CHECK(out.size() == 10);
        REQUIRE(out.append("abcde"));
        CHECK_FALSE(out.append("f"));
    }
    sigset_t pending;
    sigpending(&pending);
    CHECK(sigismember(&pending, SIGXFSZ) == 0);
    REQUIRE(out.append("f"));
    CHECK(file.bytes() == "0123456789abcdef");
}

TEST_CASE("a host's own pending SIGXFSZ and its mask stay as they are") {
    const TemporaryFile file;
    AppendFile out(file.open());
    sigset_t set, before, after;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    raise(SIGXFSZ);
    {
        const FileSizeLimit limit(0);
        CHECK_FALSE(out.append("x"));
    }
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    CHECK(sigismember(&after, SIGXFSZ) == 1);
    const timespec at_once{};
    CHECK(sigtimedwait(&set, nullptr, &at_once) == SIGXFSZ);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("a full disk is an error with the reason") {
    AppendFile out(Descriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC)));
    const auto result = out.append("x");
    REQUIRE_FALSE(result);
    CHECK(result.error().message.find("No space left on device") != std::string::npos);
}

TEST_CASE("a profile whose disk was full for a while is whole afterwards") {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    Recorded expected, read, early;
    write_example(expected);
    write_example(writer);
    REQUIRE(writer.flush());
    const auto size = writer.bytes_written();
    {
        const FileSizeLimit limit(size + 5);
        writer.sample({1, 0, 1, 1});
        CHECK_FALSE(writer.flush());
        CHECK(file.bytes().size() == size);
        REQUIRE(read_profile(file.path(), early));
        CHECK(early.lines == expected.lines);
        writer.sample({2, 0, 2, 1});
        CHECK_FALSE(writer.flush());
    }
    REQUIRE(writer.flush());
    expected.sample({1, 0, 1, 1});
    expected.sample({2, 0, 2, 1});
    REQUIRE(read_profile(file.path(), read));
    CHECK(read.lines == expected.lines);
}
