#include "base/proc_maps.hpp"

#include <doctest/doctest.h>
#include <sys/sysmacros.h>

#include <algorithm>

using namespace flameprobe;

TEST_CASE("lines of /proc/PID/maps are parsed, and malformed ones skipped") {
    const ProcMaps maps(
        "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/with a space (deleted)\n"
        "7ffff7fc1000-7ffff7fc3000 ---p 00000000 00:00 0 \n"
        "this is no line\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
        "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]");
    REQUIRE(maps.lines.size() == 4);
    const MapsLine& file = maps.lines[0];
    CHECK(file.start == 0x400000);
    CHECK(file.end == 0x452000);
    CHECK(file.offset == 0x1000);
    CHECK(file.device == makedev(8, 2));
    CHECK(file.inode == 173521);
    CHECK(file.readable);
    CHECK(file.executable);
    CHECK(file.path == "/usr/bin/with a space (deleted)");
    CHECK_FALSE(maps.lines[1].readable);
    CHECK_FALSE(maps.lines[1].executable);
    CHECK(maps.lines[1].path.empty());
    CHECK(maps.lines[2].start == 0xffffffffff600000);
    CHECK(maps.lines[2].executable);
    CHECK(maps.lines[3].path == "[stack]");
    for (const char* bad : {"", "\n", "1-2", "1-2 r-xp", "1-2 r-xp 0 0:0", "-", "1-2 r-xp 0 0:0 x y"})
        CHECK(ProcMaps(bad).lines.empty());
}

TEST_CASE("what lay between two parts of a file is known from these") {
    const auto around = [](const char* last) {
        const ProcMaps maps(std::string("1000-2000 r--p 00000000 08:02 17      /bin/x\n"
                                        "2000-3000 r-xp 00001000 08:02 17      /bin/x\n"
                                        "3000-5000 r-xp 00000000 00:00 0 \n"
                                        "5000-6000 rw-p 00000000 00:00 0 \n") +
                            last);
        CHECK_FALSE(file_around(maps, 1).has_value());
        return file_around(maps, 2);
    };
    const auto file = around("6000-7000 r-xp 00005000 08:02 17      /bin/x\n");
    REQUIRE(file.has_value());
    CHECK(file->start == 0x3000);
    CHECK(file->end == 0x5000);
    CHECK(file->offset == 0x2000);
    CHECK(file->inode == 17);
    CHECK_FALSE(around("6000-7000 r-xp 00004000 08:02 17      /bin/x\n").has_value());  // another part
    CHECK_FALSE(around("6000-7000 r-xp 00005000 08:02 18      /bin/y\n").has_value());  // another file
    CHECK_FALSE(around("7000-8000 r-xp 00006000 08:02 17      /bin/x\n").has_value());  // a gap
    CHECK_FALSE(around("").has_value());
}

TEST_CASE("this process's code is in its maps") {
    const auto maps = read_proc_maps();
    REQUIRE(maps);
    const auto here = reinterpret_cast<std::uint64_t>(&read_proc_maps);
    const auto found = std::find_if(maps->lines.begin(), maps->lines.end(),
                                    [here](const MapsLine& line) { return line.start <= here && here < line.end; });
    REQUIRE(found != maps->lines.end());
    CHECK(found->executable);
    CHECK(found->path.ends_with("unit-base"));
}
