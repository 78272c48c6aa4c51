#include "diff.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "diff_answer.hpp"
#include "diff_pictures.hpp"
#include "inputs.hpp"
#include "profile_of.hpp"
#include "simulated_runs.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

ProfileDiff diff_of(ProfileOf&& before, ProfileOf&& after) {
    auto diff = diff_profiles(std::move(before.profile), std::move(after.profile));
    REQUIRE(diff);
    return std::move(*diff);
}

ProfileDiff example() {
    return diff_of(std::move(ProfileOf().folded("main;parse 400\nmain;eval;gc 200\nmain;eval 400\n")),
                   std::move(ProfileOf().folded("main;parse 800\nmain;eval 800\nmain;eval;jit 400\n")));
}

const FunctionChange& change_of(const std::vector<FunctionChange>& changes, const ProfileDiff& diff,
                                std::string_view name) {
    const auto found = std::find_if(changes.begin(), changes.end(), [&](const FunctionChange& change) {
        return diff.profile.strings.view(diff.profile.functions[change.function].name) == name;
    });
    REQUIRE(found != changes.end());
    return *found;
}

std::size_t box_of(const ProfileDiff& diff, const DiffTree& tree, std::string_view name) {
    for (std::size_t id = 0; id < tree.tree.boxes.size(); ++id) {
        const Box& box = tree.tree.boxes[id];
        const bool named = box.kind == BoxKind::function;
        if (named && diff.profile.strings.view(diff.profile.functions[box.function].name) == name) return id;
    }
    FAIL("no box is called " << name);
    return 0;
}

}  // namespace

TEST_CASE("shares are compared, not counts") {
    ProfileDiff diff = example();
    const auto changes = function_changes(diff);
    const auto& parse = change_of(changes, diff, "parse");
    CHECK(parse.self.before().value() == doctest::Approx(0.4));
    CHECK(parse.self.difference() == doctest::Approx(0));
    CHECK(parse.self.is_noise());
    const auto& eval = change_of(changes, diff, "eval");
    CHECK(eval.total.difference() == doctest::Approx(0));
    CHECK(eval.self.before().count == 400);
    CHECK(eval.self.after().count == 800);
    CHECK(change_of(changes, diff, "gc").total.vanished());
    CHECK(change_of(changes, diff, "jit").total.appeared());
}

namespace {

ProfileOf heap(std::string_view folded) {
    ProfileOf made;
    made.folded(folded);
    made.profile.has_run = true;
    made.profile.run.event = event_name::heap_end;
    made.profile.run.event_kind = event_kind::bytes;
    return made;
}

}  // namespace

TEST_CASE("what is alive is compared by its amount: what stays does not shrink where something else grows") {
    ProfileDiff diff = diff_of(heap("main;catalog 4000\nmain;sessions 2000\n"),
                               heap("main;catalog 4000\nmain;sessions 22000\nmain;jobs 300\n"));
    CHECK(diff.by_amount);
    const auto changes = function_changes(diff);
    CHECK(change_of(changes, diff, "catalog").total.difference() == 0);
    const Change& sessions = change_of(changes, diff, "sessions").total;
    CHECK(sessions.difference() == doctest::Approx(20000.0 / 26300));
    CHECK(sessions.noise() == doctest::Approx(3.29 * std::sqrt(24000.0) / 26300));
    CHECK_FALSE(sessions.is_noise());
    CHECK(change_of(changes, diff, "jobs").total.appeared());
    const DiffTable table = diff_table(diff, 9, SortBy::total, {}, {});
    CHECK(table.text.find("5.9 KiB, 6,000 samples before; 25.7 KiB, 26,300 samples after") != std::string::npos);
    CHECK(table.text.find("+19.5 KiB") != std::string::npos);
    const auto tree = build_diff_tree(diff, false, 0);
    REQUIRE(tree);
    const auto width = [&](std::string_view name) {
        return static_cast<double>(tree->tree.boxes[box_of(diff, *tree, name)].total) /
               static_cast<double>(tree->tree.boxes[0].total);
    };
    CHECK(width("catalog") == doctest::Approx(8000.0 / 32300));
}

TEST_CASE("a leak is found where nothing was alive before") {
    const auto diff = diff_profiles(heap("").profile, heap("main;leak 4000\n").profile);
    REQUIRE(diff);
    CHECK(change_of(function_changes(*diff), *diff, "leak").total.appeared());
    CHECK_FALSE(diff_profiles(heap("").profile, heap("").profile));
}

TEST_CASE("frames that vanished or appeared have width, and each box has the counts of both sides") {
    ProfileDiff diff = example();
    const auto tree = build_diff_tree(diff, false, 0);
    REQUIRE(tree);
    const auto all = static_cast<double>(tree->tree.boxes[0].total);
    for (const char* name : {"gc", "jit"}) {
        const std::size_t id = box_of(diff, *tree, name);
        CHECK(static_cast<double>(tree->tree.boxes[id].total) / all == doctest::Approx(0.1));
    }
    const BoxShares& gc = tree->shares[box_of(diff, *tree, "gc")];
    CHECK(gc.total.before == 200);
    CHECK(gc.total.after == 0);
    const BoxShares& eval = tree->shares[box_of(diff, *tree, "eval")];
    CHECK(eval.total.before == 600);
    CHECK(eval.total.after == 1200);
    CHECK(eval.self.before == 400);
    CHECK(eval.self.after == 800);
    CHECK(tree->shares[0].total.before == 1000);
    CHECK(tree->shares[0].total.after == 2000);
}

TEST_CASE("samples in gathered and left-out frames are not lost, also in a reversed tree") {
    for (const bool reverse : {false, true}) {
        ProfileOf before, after;
        std::vector<std::string> deep(1000, "r");
        before.stack(deep, 10);
        after.stack({"main"}, 1000);
        for (int i = 0; i < 150; ++i) {
            before.stack({"main", "f" + std::to_string(i)}, 1);
            after.stack({"main", "g" + std::to_string(i), "h"}, 1);
            deep.push_back("leaf" + std::to_string(i));
            after.stack(deep, 1);
        }
        ProfileDiff diff = diff_of(std::move(before), std::move(after));
        const auto tree = build_diff_tree(diff, reverse, 1.0);
        REQUIRE(tree);
        CHECK(tree->shares[0].total.before == 160);
        CHECK(tree->shares[0].total.after == 1300);
        for (std::size_t id = 1; id < tree->shares.size(); ++id) {
            // A box's weight is made of exactly the samples that were put into it.
            const auto expected = tree->shares[id].total.before * (1'000'000'000'000'000 / 160) +
                                  tree->shares[id].total.after * (1'000'000'000'000'000 / 1300);
            REQUIRE(tree->tree.boxes[id].total == expected);
        }
    }
}

TEST_CASE("functions of two builds are matched although lines, paths and inlining differ") {
    ProfileOf before, after;
    before.stack({"main@3", "i:helper@7"}, 100);
    after.stack({"main@4", "helper@9"}, 100);
    for (Function& function : before.profile.functions) function.module = before.profile.strings.intern("/old/server");
    for (Function& function : after.profile.functions) function.module = after.profile.strings.intern("/new/server");
    ProfileDiff diff = diff_of(std::move(before), std::move(after));
    for (const FunctionChange& change : function_changes(diff)) {
        CHECK(change.self.difference() == doctest::Approx(0));
        CHECK(change.total.difference() == doctest::Approx(0));
    }
}

TEST_CASE("noise: of many comparisons of equal programs about 1 in 1,000 is called a change") {
    std::mt19937 random(3);
    for (const double share : {0.01, 0.1, 0.5}) {
        std::binomial_distribution<std::uint64_t> before(2000, share), after(5000, share);
        int called = 0;
        constexpr int rounds = 20'000;
        for (int i = 0; i < rounds; ++i) called += !Change({before(random), 2000}, {after(random), 5000}).is_noise();
        // 20 are expected; the seed is fixed, and the bounds leave room for the normal approximation at small counts.
        CHECK(called >= 5);
        CHECK(called <= 60);
    }
    CHECK_FALSE(Change({100, 2000}, {500, 5000}).is_noise());
    CHECK(Change({0, 1000}, {3, 1000}).is_noise());
    CHECK_FALSE(Change({0, 1000}, {30, 1000}).is_noise());
}

TEST_CASE("a threshold counts what grew beyond it and beyond noise") {
    ProfileDiff diff = example();
    CHECK(diff_table(diff, 10, SortBy::total, 5.0).grown == 1);  // jit, by 20 %
    CHECK(diff_table(diff, 10, SortBy::total, 25.0).grown == 0);
    CHECK(diff_table(diff, 10, SortBy::total, std::nullopt).grown == 0);
    ProfileDiff small =
        diff_of(std::move(ProfileOf().folded("a 5\nb 5\n")), std::move(ProfileOf().folded("a 7\nb 3\n")));
    CHECK(diff_table(small, 10, SortBy::total, 5.0).grown == 0);  // 20 % of ten samples is chance
}

TEST_CASE("the table and the picture print signs, and the picture is deterministic") {
    ProfileDiff diff = example();
    const std::string table = diff_table(diff, 10, SortBy::total, std::nullopt).text;
    CHECK(table.find("-20.00%") != std::string::npos);
    CHECK(table.find("+20.00%") != std::string::npos);
    CHECK(table.find("gone  gc") != std::string::npos);
    CHECK(table.find("new   jit") != std::string::npos);
    std::string pictures[2];
    for (std::string& picture : pictures) {
        ProfileDiff again = example();
        const auto sink = [&picture](std::string_view text) { picture += text; };
        REQUIRE(write_diff_svg(again, {"old", "new"}, SortBy::total, {}, sink));
    }
    CHECK(pictures[0] == pictures[1]);
    CHECK(pictures[0].find("−20.00 %") != std::string::npos);
    CHECK(pictures[0].find("class=\"m4\"") != std::string::npos);
    CHECK(pictures[0].find("class=\"p4\"") != std::string::npos);
}

TEST_CASE("nothing can be compared with an empty profile") {
    CHECK_FALSE(diff_profiles(std::move(ProfileOf().profile), std::move(ProfileOf().folded("a 1\n").profile)));
    CHECK_FALSE(diff_profiles(std::move(ProfileOf().folded("a 1\n").profile), std::move(ProfileOf().profile)));
}

TEST_CASE("folded text, which does not tell threads and notes apart, compares with a profile that does") {
    ProfileOf recorded, text;
    recorded.folded("main;parse;[truncated] 400\n");
    for (Function& function : recorded.profile.functions) {
        const std::string_view name = recorded.profile.strings.view(function.name);
        if (name == "main") function.kind = FrameKind::thread;
        if (name == "[truncated]") function.kind = FrameKind::note;
    }
    text.folded("main;parse;[truncated] 100\n");
    const ProfileDiff diff = diff_of(std::move(recorded), std::move(text));
    CHECK(diff.profile.counts.size() == 1);
    CHECK(diff.before == std::vector<std::uint64_t>{400});
    CHECK(diff.after == std::vector<std::uint64_t>{100});
}
TEST_CASE("a change of unsampled time counts only if it is more than a few samples stand for") {
    const auto run_of = [](std::uint64_t lost) {
        ProfileOf run;
        run.stack({"main", "work"}, 400);
        run.profile.counts.back().hits = 25;  // a tick of sixteen periods each
        if (lost != 0) run.stack({"main", "[kernel, not permitted]"}, lost);
        if (lost != 0) run.profile.counts.back().hits = 0;
        return run;
    };
    const auto grown = [](ProfileDiff&& diff) { return diff_table(diff, 0, SortBy::self, 1.0).grown; };
    CHECK(grown(diff_of(run_of(0), run_of(24))) == 0);
    CHECK(grown(diff_of(run_of(24), run_of(0))) == 0);  // nor has the rest grown
    CHECK(grown(diff_of(run_of(0), run_of(400))) == 1);
}
TEST_CASE("lost samples make no function grow, and are reported") {
    const auto run_of = [](std::uint64_t lost) {
        ProfileOf run;
        run.stack({"main", "work"}, 4000);
        run.stack({"main", "rest"}, 1000);
        if (lost != 0) run.stack({"main", "[lost]"}, lost);
        return run;
    };
    for (const auto& [before, after] : {std::pair{0, 2000}, std::pair{2000, 0}}) {
        ProfileDiff diff =
            diff_of(run_of(static_cast<std::uint64_t>(before)), run_of(static_cast<std::uint64_t>(after)));
        const DiffTable table = diff_table(diff, 0, SortBy::self, 0.0);
        CHECK(table.grown == 0);
        CHECK(table.text.find("\nleft out is CPU time whose samples were lost: ") != std::string::npos);
        REQUIRE(diff.profile.warnings.size() == 1);
        CHECK(diff.profile.warnings[0].find("28.57 %") != std::string::npos);
    }
    CHECK(diff_of(run_of(0), run_of(0)).profile.warnings.empty());
}
TEST_CASE("a hit that stands for several periods is one observation") {
    // Equal runs of a timer that expires at every fourth period: hits of weight 4, the same shares drawn again and
    // again.
    std::mt19937_64 random(4);
    std::size_t failed_by_weight = 0, failed_by_hits = 0;
    const auto draw = [&random] {
        std::vector<std::uint64_t> hits;
        for (int function = 0; function < 10; ++function) {
            hits.push_back(std::poisson_distribution<std::uint64_t>(60)(random));
        }
        return hits;
    };
    const auto run_of = [](const std::vector<std::uint64_t>& hits, bool counted) {
        ProfileOf run;
        for (std::size_t i = 0; i < hits.size(); ++i) run.stack({"main", "f" + std::to_string(i)}, 4 * hits[i]);
        for (NamedCount& count : run.profile.counts) count.hits = counted ? count.weight / 4 : count.weight;
        return run;
    };
    const auto grown = [](ProfileDiff&& diff) { return diff_table(diff, 0, SortBy::self, 0.0).grown > 0; };
    for (int pair = 0; pair < 200; ++pair) {
        const auto before = draw(), after = draw();
        failed_by_weight += grown(diff_of(run_of(before, false), run_of(after, false)));
        failed_by_hits += grown(diff_of(run_of(before, true), run_of(after, true)));
    }
    CHECK(failed_by_hits <= 4);
    CHECK(failed_by_weight > 40);  // as if each period were an observation
}

TEST_CASE("a function's kind and module are taken from the side that has them") {
    ProfileOf before, after;
    before.stack({"t:worker", "main", "i:helper", "k:read"}, 10);
    after.stack({"worker", "main", "other"}, 10);
    for (Function& function : before.profile.functions) function.module = before.profile.strings.intern("/srv/server");
    for (Function& function : after.profile.functions) function.module = 0;  // as of folded text
    const ProfileDiff diff = diff_of(std::move(before), std::move(after));
    REQUIRE(diff.descriptions.size() == diff.profile.functions.size());
    const auto known = [&](std::string_view name) {
        for (const Function& function : diff.descriptions)
            if (diff.profile.strings.view(function.name) == name) return function;
        return Function{};
    };
    CHECK(known("worker").kind == FrameKind::thread);
    CHECK(known("helper").kind == FrameKind::inlined);
    CHECK(known("read").kind == FrameKind::kernel);
    CHECK(diff.profile.strings.view(known("main").module) == "/srv/server");
    CHECK(diff.profile.strings.view(known("other").module).empty());
}

TEST_CASE("a side of a comparison is a file, a directory of profiles, or several names") {
    namespace fs = std::filesystem;
    char place[] = "/tmp/flameprobe-sides-XXXXXX";
    const fs::path directory = mkdtemp(place);
    for (const char* name : {"b.fprobe", "a.fprobe", "c.folded", "x,y.fprobe"}) std::ofstream(directory / name) << "x";
    fs::create_directory(directory / "none");
    const std::string at = directory.string() + "/";
    const auto inputs = [](const std::string& text) { return *side_inputs(text); };
    CHECK(inputs(at + "a.fprobe") == std::vector{at + "a.fprobe"});
    CHECK(inputs(at + "x,y.fprobe") == std::vector{at + "x,y.fprobe"});
    CHECK(inputs(directory.string()) == std::vector{at + "a.fprobe", at + "b.fprobe", at + "x,y.fprobe"});
    CHECK(inputs(at + "c.folded," + at + "b.fprobe") == std::vector{at + "c.folded", at + "b.fprobe"});
    CHECK(side_name(inputs(at + "c.folded,-")) == at + "c.folded and 1 more");
    CHECK(!side_inputs(at + "none"));
    CHECK(!side_inputs("a,,b"));
    fs::remove_all(directory);
}

TEST_CASE("runs at different frequencies are compared by their shares") {
    ProfileOf before, after;
    before.folded("main;parse 400\nmain;eval 600\n");
    after.folded("main;parse 40\nmain;eval 60\n");
    before.profile.has_run = after.profile.has_run = true;
    before.profile.run.period_ns = 1'000'000;
    after.profile.run.period_ns = 10'000'000;
    ProfileDiff diff = diff_of(std::move(before), std::move(after));
    CHECK(diff.weight_before == 1000);
    CHECK(diff.weight_after == 100);
    const auto changes = function_changes(diff);
    const auto& parse = change_of(changes, diff, "parse");
    CHECK(parse.self.before().count == 400);
    CHECK(parse.self.after().count == 40);
    CHECK(parse.self.difference() == doctest::Approx(0));
}

TEST_CASE("two runs of several processes are compared by what these are for, and have a page") {
    const auto run = [](std::string_view folded) {
        ProfileOf made;
        made.folded(folded);
        made.profile.has_run = made.profile.process_first = true;
        made.profile.threads = {{12, "nginx"}};
        return std::move(made.profile);
    };
    auto diff = diff_profiles(run("t:nginx 12;t:nginx;serve 60\nt:sh 11;t:sh;fork 5\n"),
                              run("t:nginx 712;t:nginx;serve 65\nt:sh 711;t:sh;fork 5\n"));
    REQUIRE(diff);
    CHECK(diff->matched[0] == 1);
    for (const FunctionChange& change : function_changes(*diff)) CHECK_FALSE(change.total.vanished());
    std::string page;
    const auto sink = [&page](std::string_view text) { page += text; };
    CHECK(write_diff_html(*diff, {"before", "after"}, SortBy::total, "", {}, sink));
    CHECK(page.find("</html>") != page.npos);
}

namespace {

/// A run in which each of `stretches` of time has samples of `work` and `rest`, and `work` varies by `swing` between
/// them.
NamedProfile timed_run(std::mt19937_64& random, double work, double swing, std::uint32_t stretches = 24) {
    ProfileOf made;
    made.folded("main;work 0\nmain;rest 0\n");
    NamedProfile& profile = made.profile;
    profile.bin_ns = 1'000'000;
    std::vector<TimedWeight> of_work, of_rest;
    for (std::uint32_t bin = 0; bin < stretches; ++bin) {
        const double part = std::clamp(work * (1 + swing * std::normal_distribution<double>()(random)), 0.0, 1.0);
        const std::uint64_t hits = std::binomial_distribution<std::uint64_t>(400, part)(random);
        of_work.push_back({0, bin, hits, hits});
        of_rest.push_back({1, bin, 400 - hits, 400 - hits});
        profile.counts[0].weight += hits, profile.counts[0].hits += hits;
        profile.counts[1].weight += 400 - hits, profile.counts[1].hits += 400 - hits;
    }
    profile.times = of_work;
    profile.times.insert(profile.times.end(), of_rest.begin(), of_rest.end());
    return std::move(made.profile);
}

}  // namespace

TEST_CASE("samples of one stretch of time are no independent evidence, nor those of one run") {
    std::mt19937_64 random(7);
    int found = 0, missed = 0;
    for (int pair = 0; pair < 200; ++pair) {
        auto same = diff_profiles(timed_run(random, 0.4, 0.3), timed_run(random, 0.4, 0.3));
        auto other = diff_profiles(timed_run(random, 0.4, 0.1), timed_run(random, 0.6, 0.1));
        REQUIRE(same);
        REQUIRE(other);
        found += !answer_of(*same).findings.empty();
        missed += answer_of(*other).findings.empty();
    }
    CHECK(found <= 2);  // without clusters it is more than half
    CHECK(missed == 0);
    std::vector<NamedProfile> before, after;
    for (int run = 0; run < 6; ++run) {
        before.push_back(timed_run(random, run % 2 == 0 ? 0.3 : 0.5, 0));
        after.push_back(timed_run(random, run % 2 == 0 ? 0.35 : 0.55, 0));
    }
    auto groups = diff_sides(diff_side(std::move(before)), diff_side(std::move(after)));
    REQUIRE(groups);
    CHECK(answer_of(*groups).findings.empty());
}

TEST_CASE("the answer names what explains the others, and a share that grew for it is no change") {
    ProfileDiff diff =
        diff_of(std::move(ProfileOf().folded("main;aggregate;mix 6000\nmain;parse 3000\nmain;send 1000\n")),
                std::move(ProfileOf().folded("main;aggregate;mix 1800\nmain;parse 3000\nmain;send 1000\n")));
    const DiffAnswer answer = answer_of(diff);
    REQUIRE(answer.findings.size() == 1);
    CHECK(answer.findings[0].name == "aggregate");
    CHECK(answer.sentence.starts_with("aggregate: −70 % "));
    CHECK(count_grown(answer, 0) == 0);
    CHECK(answer.rest < 0.05);
}

TEST_CASE("a large factor is no percentage, and what takes the whole has none") {
    const auto said = [](std::string_view before, std::string_view after) {
        ProfileDiff diff = diff_of(std::move(ProfileOf().folded(before)), std::move(ProfileOf().folded(after)));
        const DiffAnswer answer = answer_of(diff);
        CHECK(answer.rest <= 1);
        CHECK(answer.seen <= 1);
        return answer.sentence;
    };
    CHECK(said("m;a 10\nm;b 990\n", "m;a 900\nm;b 990\n").starts_with("a: × 90 time against the rest (6"));
    CHECK(said("m;a 10\nm;b 990\n", "m;a 100\n").starts_with("a: +99 percentage points of the time (+9"));
}

TEST_CASE("an interval holds no change just where p is above 0.05") {
    std::mt19937 random(5);
    for (int i = 0; i < 2000; ++i) {
        const auto draw = [&] { return std::binomial_distribution<std::uint64_t>(1000, 0.2)(random); };
        const Change change({draw(), 1000}, {draw(), 1000}, false, 1.7);
        CHECK((std::abs(change.difference()) < change.half()) == (change.p() > 0.05));
    }
}

TEST_CASE("what a unit of work costs is compared where both sides counted it") {
    const auto run = [](std::uint64_t aggregate, std::uint64_t requests) {
        ProfileOf made;
        made.folded("t:main;aggregate 1\nt:main;parse 1\n");
        made.profile.has_run = true;
        made.profile.run.period_ns = 1'000'000;
        made.profile.counts[0].weight = aggregate * 1'000'000, made.profile.counts[0].hits = aggregate;
        made.profile.counts[1].weight = requests * 1'000'000, made.profile.counts[1].hits = requests;
        made.profile.work["request"] = requests;
        return std::move(made.profile);
    };
    auto diff = diff_profiles(run(4000, 2000), run(4960, 4000));  // 2 and 1.24 ms of each request
    REQUIRE(diff);
    CHECK(diff->unit == "request");
    CHECK(answer_of(*diff).sentence.starts_with("aggregate: −38 % CPU time a request (−4"));
}

namespace {

/// Answers to `pairs` of groups of runs of a simulated program, of which only `change` differs.
struct Tried {
    int first = 0, failed = 0, named = 0;
    DiffAnswer last;
};

Tried try_pairs(const SimulatedProgram& program, int pairs, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const SimulatedRuns runs(program);
    Tried tried;
    for (int pair = 0; pair < pairs; ++pair) {
        auto diff = diff_sides(diff_side(runs.side(random, 1)), diff_side(runs.side(random, 1 + program.change)));
        REQUIRE(diff);
        tried.last = answer_of(*diff);
        tried.named += !tried.last.findings.empty();
        tried.first += !tried.last.findings.empty() && tried.last.findings.front().name == "target";
        tried.failed += count_grown(tried.last, 0.01) > 0;
    }
    return tried;
}

}  // namespace

TEST_CASE("a gate fails where what has most of the whole grows, although all other shares fall") {
    CHECK(try_pairs({.share = 0.9, .change = 0.3}, 20, 1).failed == 20);
    CHECK(try_pairs({.share = 0.9, .change = 0.3, .others = 1}, 20, 2).failed == 20);
    CHECK(try_pairs({.runs = 1, .seconds = 60, .share = 0.9, .change = 1.5}, 20, 3).failed == 20);
    CHECK(try_pairs({.seconds = 20, .share = 0.99, .change = 0.3}, 20, 4).failed == 20);
    // What has ten samples in a thousand shows little: then the answer says from where on.
    const DiffAnswer few = try_pairs({.runs = 6, .share = 0.99, .change = 0.1}, 1, 5).last;
    CHECK(few.findings.empty());
    REQUIRE(!few.doubts.empty());
    CHECK(few.doubts.back().find("target has most of the whole, so its change is seen from ") != std::string::npos);
}

TEST_CASE("a gate passes where something shrank, although shares of all else grew") {
    CHECK(try_pairs({.share = 0.5, .change = -0.4}, 20, 1).failed == 0);
    CHECK(try_pairs({.share = 0.5, .change = -0.4}, 20, 1).first == 20);
    // Of two parts the time that a run took tells which it was, unless it varies too much.
    CHECK(try_pairs({.share = 0.5, .change = -0.4, .others = 1, .speed = 0.01}, 20, 2).failed <= 2);
    const Tried unknown = try_pairs({.share = 0.5, .change = -0.4, .others = 1, .speed = 1}, 20, 3);
    CHECK(unknown.failed >= 15);
    REQUIRE(!unknown.last.doubts.empty());
    CHECK(unknown.last.doubts.front().find("shares do not tell whether part0 grew or target shrank") == 0);
}

TEST_CASE("a gate fails where a function's own code grows beside all that it calls") {
    ProfileDiff diff = diff_of(std::move(ProfileOf().folded("main;hot 9000\nmain;hot;a 400\nmain;hot;b 600\n")),
                               std::move(ProfileOf().folded("main;hot 18000\nmain;hot;a 400\nmain;hot;b 600\n")));
    const DiffAnswer answer = answer_of(diff);
    REQUIRE(!answer.findings.empty());
    CHECK(answer.findings.front().name == "hot itself");
    CHECK(answer.findings.front().growth == doctest::Approx(0.9));
    CHECK(count_grown(answer, 0.5) == 1);
}

TEST_CASE("10 % of a function is found by ten runs of three seconds, and 3 % by as many as the tool asks for") {
    CHECK(try_pairs({.share = 0.4, .change = 0.1}, 100, 1).first >= 93);
    CHECK(try_pairs({.runs = 92, .share = 1.0 / 3, .change = 0.03}, 20, 2).first >= 18);
    const Tried equal = try_pairs({.between = 0.02}, 200, 3);
    CHECK(equal.failed == 0);
    CHECK(equal.named <= 10);
    // One percent of the whole is what three of a third are.
    const DiffAnswer answer = try_pairs({}, 1, 4).last;
    REQUIRE(!answer.doubts.empty());
    CHECK(answer.doubts.back().find(" more runs a side of 3") != std::string::npos);
}

TEST_CASE("interrupts are the machine's, and no change of the program") {
    ProfileDiff diff = diff_of(
        std::move(ProfileOf().folded("main;work 5000\nmain;work;k:asm_sysvec_apic_timer_interrupt;k:tick 50\n")),
        std::move(ProfileOf().folded("main;work 5000\nmain;work;k:asm_sysvec_apic_timer_interrupt;k:tick 900\n")));
    const DiffAnswer answer = answer_of(diff);
    CHECK(answer.findings.empty());
    REQUIRE(!answer.doubts.empty());
    CHECK(answer.doubts[0] == "not searched are interrupts, which the machine decides: 0.99 % before, 15 % after");
}

TEST_CASE("what a finding leaves of a function is its rest, and what only moved is all of it") {
    ProfileDiff diff = diff_of(
        std::move(
            ProfileOf().folded("main;filter;deflate 8000\nmain;filter 600\nmain;filter;write 500\nmain;read 900\n")),
        std::move(ProfileOf().folded("main;write 5000\nmain;read 5000\n")));
    const DiffAnswer answer = answer_of(diff);
    REQUIRE(answer.findings.size() == 2);
    CHECK(answer.findings[0].name == "filter");
    CHECK(answer.findings[1].name == "write");
    CHECK(answer.findings[1].before == "5.00 %");
    CHECK(answer.findings[1].amount != "new");
    ProfileDiff scan = diff_of(std::move(ProfileOf().folded("main;run;scan 8000\nmain;rest 2000\n")),
                               std::move(ProfileOf().folded("main;run;index 1000\nmain;rest 2000\n")));
    const DiffAnswer found = answer_of(scan);
    REQUIRE(!found.findings.empty());
    CHECK(found.findings[0].name == "scan");
}

TEST_CASE("which thread had the CPU is no change of one run, but what a thread does is") {
    // Two threads, in one of which `count` runs: as those of Python, of which one has the interpreter's lock.
    const auto run = [](std::uint64_t counting, std::uint64_t reading, bool threads) {
        ProfileOf made;
        made.stack({"t:main", "count"}, 0, 0);
        made.stack({"t:main", "read"}, 0, threads ? 1 : 0);
        made.profile.has_run = true;
        made.profile.run.period_ns = 1;
        made.profile.bin_ns = 100'000'000;
        made.profile.threads.resize(threads ? 2 : 1);
        for (std::uint32_t count : {0, 1})
            for (std::uint32_t bin = 0; bin < 24; ++bin) {
                const std::uint64_t weight = count == 0 ? counting : reading;
                made.profile.counts[count].weight += weight, made.profile.counts[count].hits += weight;
                made.profile.times.push_back({count, bin, weight, weight});
            }
        return std::move(made.profile);
    };
    auto of_one = diff_profiles(run(50, 50, false), run(75, 25, false));
    REQUIRE(of_one);
    CHECK(!answer_of(*of_one).findings.empty());
    auto of_two = diff_profiles(run(50, 50, true), run(75, 25, true));
    REQUIRE(of_two);
    CHECK(answer_of(*of_two).findings.empty());
}

TEST_CASE("code of the kernel differs more between runs") {
    const auto run = [](std::string_view name, std::uint64_t copies) {
        ProfileOf made;
        made.stack({"t:main", "send", std::string(name)}, 0).stack({"t:main", "work"}, 0);
        made.profile.has_run = true;
        made.profile.run.period_ns = 1;
        made.profile.bin_ns = 100'000'000;
        for (std::uint32_t count : {0, 1})
            for (std::uint32_t bin = 0; bin < 24; ++bin) {
                const std::uint64_t weight = count == 0 ? copies : 1000;
                made.profile.counts[count].weight += weight, made.profile.counts[count].hits += weight;
                made.profile.times.push_back({count, bin, weight, weight});
            }
        return std::move(made.profile);
    };
    const auto noise = [&](std::string_view name) {
        auto diff = diff_profiles(run(name, 100), run(name, 100));
        REQUIRE(diff);
        const std::string_view shown = name.starts_with("k:") ? name.substr(2) : name;
        return change_of(function_changes(*diff), *diff, shown).self.noise();
    };
    CHECK(noise("k:copy") > 1.5 * noise("copy"));
}

TEST_CASE("sums without a stack are those of all others") {
    ProfileDiff diff = example();
    DiffSums sums = *diff.sums;
    for (std::uint32_t count = 0; count < diff.profile.counts.size(); ++count) {
        if (diff.profile.name(diff.profile.nodes[diff.profile.counts[count].node].frame) == "eval")
            sums.remove(diff, count);
    }
    const auto of = [&](std::string_view name) {
        for (FunctionId id = 0; id < sums.sums().size(); ++id)
            if (diff.profile.strings.view(diff.profile.functions[id].name) == name) return sums.sums()[id];
        return FunctionSums{};
    };
    CHECK(of("eval").self_before == 0);
    CHECK(of("eval").self_variance_before == 0);
    CHECK(of("eval").total_before == 200);
    CHECK(of("eval").total_after == 400);
    CHECK(of("main").total_before == 600);
    CHECK(sums.all().total_after == 1200);
    CHECK(sums.all().total_variance_after == doctest::Approx(1200));
}
