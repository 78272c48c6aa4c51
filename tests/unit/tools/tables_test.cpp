#include "tables.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "comment.hpp"
#include "inputs.hpp"
#include "profile_of.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

bool has_row(const std::string& table, const std::string& row) {
    INFO(table);
    return table.find(row + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("the table has self and total; a recursive function counts once; threads are no functions") {
    ProfileOf profile;
    profile.stack({"t:worker", "main", "f", "f", "f"}, 6)
        .stack({"t:worker", "main", "f", "k:read"}, 3)
        .stack({"t:worker", "main"}, 1);
    const std::string by_self = top_table(profile.profile, 10, SortBy::self);
    CHECK(has_row(by_self, "           6   60.00%           9   90.00%  f  (demo)"));
    CHECK(has_row(by_self, "           3   30.00%           3   30.00%  [kernel]"));
    CHECK(has_row(top_table(profile.profile, 10, SortBy::self, {}, true),
                  "           3   30.00%           3   30.00%  read_[k]"));
    CHECK(has_row(by_self, "           1   10.00%          10  100.00%  main  (demo)"));
    CHECK(by_self.find("worker") == std::string::npos);
    CHECK(by_self.find("  f  (") < by_self.find("  main  ("));
    const std::string by_total = top_table(profile.profile, 10, SortBy::total);
    CHECK(by_total.find("  main  (") < by_total.find("  f  ("));
    CHECK(has_row(top_table(profile.profile, 1, SortBy::self), "and 2 more functions"));
}

TEST_CASE("the table has a row for each scope, and one for what is in none") {
    ProfileOf profile;
    profile.stack({"t:w", "main", "s:request", "parse"}, 5)
        .stack({"t:w", "main", "s:request", "run", "s:query", "scan"}, 3)
        .stack({"t:w", "main", "idle"}, 2);
    const std::string table = scope_table(profile.profile, 10);
    CHECK(has_row(table, "           5  50.00 %           8  80.00 %  [request]: parse 100.00 %"));
    CHECK(has_row(table, "           3  30.00 %           3  30.00 %  [query]: scan 100.00 %"));
    CHECK(has_row(table, "           2  20.00 %           2  20.00 %  not in any scope: idle 100.00 %"));
}

TEST_CASE("a comment has the answer, the functions and a graph of letters, and no name is markup") {
    ProfileOf profile;
    profile.stack({"t:worker-1", "main", "parse"}, 60)
        .stack({"t:worker-2", "main", "a|b`@all"}, 20)
        .stack({"t:worker-2", "main", "operator_*"}, 20);
    const std::string comment = comment_text(profile.profile);
    INFO(comment);
    CHECK(comment.starts_with("**60 % in parse**\n\n100 samples\n\n"));
    CHECK(comment.find("\n| 60 % | 60 % | `parse` |\n| 20 % | 20 % | `a\\|b'@all` |\n") != comment.npos);
    CHECK(comment.find(" 60 % ██████████████              parse\n") != comment.npos);
    CHECK(comment.find(" 20 %               █████         a|b'@all\n") != comment.npos);
    CHECK(comment.ends_with("```\n"));
    ProfileOf many;
    for (int at = 0; at < 100; ++at) many.stack({"t:main", "main", "f" + std::to_string(at)}, 1);
    CHECK(std::ranges::count(comment_text(many.profile), '\n') < 50);
}

TEST_CASE("folded samples are chosen by their first frame and by scope frames") {
    const auto kept = [](const SampleFilter& filter) {
        ProfileOf profile;
        profile.folded("worker;a 1\nworker;[query];b 2\nmain;worker 4\nmain;query 8\n");
        keep_wanted(profile.profile, filter);
        std::uint64_t sum = 0;
        for (const NamedCount& count : profile.profile.counts) sum += count.weight;
        return sum;
    };
    SampleFilter filter;
    CHECK(kept(filter) == 15);
    filter.thread = "worker";
    CHECK(kept(filter) == 3);
    filter.scope = "query";
    CHECK(kept(filter) == 2);
    filter.thread = "";
    CHECK(kept(filter) == 2);
}

TEST_CASE("info has one line for each fact, whatever is in a name") {
    ProfileOf profile;
    profile.stack({"t:w", "f"}, 2);
    profile.profile.has_run = true;
    profile.profile.run.command = "evil\nThread:  none";
    profile.profile.threads = {{7, "a\x1b[31mb"}};
    const std::string text = info_text(profile.profile);
    CHECK(text.find("\nThread:  none") == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("(7): 2 samples") != std::string::npos);
}
