// Closures have no names of their own: the function around them and a number tell them apart.
#include <doctest/doctest.h>

#include <set>

#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// By mark: what the innermost function's name starts and ends with.
const std::map<std::string, std::pair<std::string, std::string>> expected_names = {
    {"first", {"engine::run(engine::Config const&)::", "::operator()"}},
    {"second", {"engine::run(engine::Config const&)::", "::operator()"}},
    {"generic", {"engine::run(engine::Config const&)::", "::operator()<int>"}},
    {"apart", {"", ""}},  // whether it is inlined into call_apart is the compiler's choice
    {"in_local", {"engine::run(engine::Config const&)::Local::go", "::operator()"}},
    {"overload", {"engine::run(int)::", "::operator()"}},
    {"hidden", {"engine::(anonymous namespace)::hidden(int)::", "::operator()"}},
    {"hidden_overload", {"engine::(anonymous namespace)::hidden(", "::operator()"}},
    {"method", {"engine::Widget::use() const::", "::operator()"}},
    {"in_main", {"main", "::operator()"}},
};

std::map<std::string, std::string> names_in(const std::string& program) {
    std::map<std::string, std::string> names;
    const auto marks = addresses_of(program, "mark_");
    std::vector<std::uint64_t> addresses;
    for (const auto& [mark, address] : marks) addresses.push_back(address);
    const Named named = name_addresses(program, addresses, {});
    std::size_t i = 0;
    for (const auto& [mark, address] : marks) names[mark] = named.chains.at(i++).at(0).name;
    return names;
}

}  // namespace

TEST_CASE("no two lambdas have the same name, and each name holds the function around it") {
    for (const char* program : {"cxx-lambdas4", "cxx-lambdas5", "clang-lambdas4", "clang-lambdas5"}) {
        CAPTURE(program);
        const auto names = names_in(std::string(TEST_VARIANTS "/") + program);
        REQUIRE(names.size() == expected_names.size());
        std::set<std::string> distinct;
        for (const auto& [mark, edges] : expected_names) {
            const std::string name = names.at(mark);
            CAPTURE(name);
            CHECK(name.starts_with(edges.first));
            CHECK(name.ends_with(edges.second));
            CHECK(name.find("(anonymous)") == std::string::npos);
            CHECK(distinct.insert(name).second);
        }
    }
}

TEST_CASE("lambdas that the compiler gave no linkage name are numbered as in the source") {
    const auto names = names_in(TEST_VARIANTS "/gcc-lambdas5");
    CHECK(names.at("first") == "engine::run(engine::Config const&)::{lambda#1}::operator()");
    CHECK(names.at("second") == "engine::run(engine::Config const&)::{lambda#2}::operator()");
    CHECK(names.at("generic") == "engine::run(engine::Config const&)::{lambda#3}::operator()<int>");
    CHECK(names.at("hidden") == "engine::(anonymous namespace)::hidden(int)::{lambda#1}::operator()");
    CHECK(names.at("hidden_overload") ==
          "engine::(anonymous namespace)::hidden(Config const&)::{lambda#1}::operator()");
    CHECK(names.at("in_local") == "engine::run(engine::Config const&)::Local::go()::{lambda#1}::operator()");
    CHECK(names.at("in_main") == "main(int, char**)::{lambda#1}::operator()");
}
