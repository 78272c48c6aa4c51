#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "kept_profile.hpp"
#include "profile_of.hpp"
#include "render/table_rows.hpp"

using namespace flameprobe;

namespace {

std::vector<std::string> names_of(const NamedProfile& profile, const FunctionTable& table) {
    std::vector<std::string> names;
    for (const TableRow& row : table.rows)
        names.push_back(row.call.empty() ? std::string(profile.strings.view(profile.functions[row.total.function].name))
                                         : row.call);
    return names;
}

std::uint64_t self_of_all(const FunctionTable& table) {
    std::uint64_t sum = 0;
    for (const auto* rows : {&table.rows, &table.rest})
        for (const TableRow& row : *rows) sum += row.total.self;
    return sum;
}

}  // namespace

TEST_CASE("a table's rows are functions, system calls and the allocator; notes and glue are beside it") {
    test::ProfileOf made;
    made.stack({"t:t", "start_thread", "main", "send", "k:entry_SYSCALL_64", "k:__x64_sys_write", "k:vfs_write"}, 50)
        .stack({"t:t", "start_thread", "main", "send", "k:entry_SYSCALL_64", "k:__x64_sys_read", "k:vfs_read"}, 20)
        .stack({"t:t", "start_thread", "main", "malloc", "_int_malloc"}, 15)
        .stack({"t:t", "start_thread", "main"}, 10)
        .stack({"t:t", "n:[lost]"}, 5);
    const FunctionTable table = table_rows(made.profile, false);
    CHECK(names_of(made.profile, table) ==
          std::vector<std::string>{"[kernel: write]", "[kernel: read]", "[malloc and free]", "main", "send"});
    CHECK(table.rows[0].total.total == 50);
    CHECK(table.rows[2].total.self == 15);
    CHECK(rest_text(table) == "not in the table: [lost] 5.00 %");
    CHECK(self_of_all(table) == table.samples);
}

TEST_CASE("what a library inlined is its function's that own code called") {
    std::ifstream in(FLAMEPROBE_TEST_DATA "/answers/locks.kept");
    const NamedProfile profile = test::read_kept(in);
    const FunctionTable table = table_rows(profile, false);
    const auto names = names_of(profile, table);
    CHECK_MESSAGE(names.front().find("::operator[]") != std::string::npos, names.front());
    for (const std::string& name : names) CHECK_MESSAGE(name.find("::_S_right(") == std::string::npos, name);
    CHECK(self_of_all(table) == table.samples);
}

TEST_CASE("who allocates is the own function that a library allocates for") {
    std::ifstream in(FLAMEPROBE_TEST_DATA "/answers/table-alloc.kept");
    const NamedProfile profile = test::read_kept(in);
    const FunctionTable table = table_rows(profile, false);
    CHECK(names_of(profile, table).front().starts_with("Table::insert"));
    CHECK(table.rows[0].total.self == table.rows[0].total.total);
    CHECK(self_of_all(table) == table.samples);
}

TEST_CASE("real programs: nothing is missing from a table, and no glue or inside of the kernel is among its rows") {
    for (const std::string name : {"nginx", "redis", "table", "proxy", "faults", "bash"}) {
        std::ifstream in(std::string(FLAMEPROBE_TEST_DATA "/answers/") + name + ".kept");
        const NamedProfile profile = test::read_kept(in);
        const FunctionTable table = table_rows(profile, false);
        CHECK_MESSAGE(self_of_all(table) == table.samples, name);
        for (const TableRow& row : table.rows)
            if (row.call.empty()) CHECK_MESSAGE(profile.functions[row.total.function].kind != FrameKind::kernel, name);
        const auto names = names_of(profile, table);
        if (name == "nginx")
            CHECK(names.front() == "in deflate, libz.so.1.2.13");
        else if (name == "redis")
            CHECK(names.front() == "[kernel: write]");
    }
}
