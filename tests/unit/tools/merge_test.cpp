#include "merge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "export/output.hpp"
#include "export/text.hpp"
#include "gates.hpp"
#include "process_tree.hpp"
#include "profile_of.hpp"
#include "render/call_tree.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/role.hpp"
#include "render/run_facts.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

std::map<std::string, std::uint64_t> stacks_of(const NamedProfile& profile) {
    std::map<std::string, std::uint64_t> stacks;
    for (const NamedCount& count : profile.counts) {
        std::string stack;
        for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent) {
            stack = std::string(profile.name(profile.nodes[node].frame)) + (stack.empty() ? "" : ";") + stack;
        }
        stacks[stack] += count.weight;
    }
    return stacks;
}

NamedProfile with_run(ProfileOf&& made, std::uint32_t pid, std::uint64_t start, std::uint64_t duration) {
    made.profile.has_run = true;
    made.profile.run.pid = pid;
    made.profile.run.command = "server";
    made.profile.run.period_ns = 10;
    made.profile.run.start_unix_ns = start;
    made.profile.summary.duration_ns = duration;
    made.profile.summary.samples = 5;
    made.profile.summary.complete = true;
    made.profile.summary.counters["rows"] = 2;
    made.profile.summary.counters[std::string(counter::allocation_mean)] = 524288;
    return std::move(made.profile);
}

}  // namespace

TEST_CASE("equal stacks are added up, others are kept") {
    ProfileMerger merger;
    merger.add(ProfileOf().folded("main;a;b 3\nmain;a 1\n").profile);
    merger.add(ProfileOf().folded("main;c 5\nmain;a;b 4\n").profile);
    const NamedProfile merged = merger.take();
    const std::map<std::string, std::uint64_t> expected = {{"main;a;b", 7}, {"main;a", 1}, {"main;c", 5}};
    CHECK(stacks_of(merged) == expected);
    CHECK(merged.nodes.size() == 5);
    for (NodeId id = 1; id < merged.nodes.size(); ++id) CHECK(merged.nodes[id].parent < id);
}

TEST_CASE("memory does not grow with the number of inputs") {
    ProfileMerger merger;
    for (int i = 0; i < 1000; ++i) {
        ProfileOf input;
        input.folded("main;a;b 3\nmain;a 1\n");
        input.profile.threads = {{static_cast<std::uint32_t>(i + 1), "main"}};
        merger.add(input.profile);
    }
    const NamedProfile merged = merger.take();
    CHECK(merged.nodes.size() == 4);
    CHECK(merged.frames.size() == 3);
    CHECK(merged.counts.size() == 2);
    CHECK(stacks_of(merged).at("main;a;b") == 3000);
    REQUIRE(merged.threads.size() == 1);
    CHECK(merged.threads[0].tid == 0);  // a thousand threads of one name have no one number
}

TEST_CASE("kinds and lines keep frames apart, addresses do not") {
    ProfileMerger merger;
    ProfileOf first, second;
    first.stack({"t:main", "f@1"}, 1).stack({"t:main", "k:f"}, 1);
    second.stack({"t:main", "f@2"}, 1).stack({"t:main", "f@1"}, 1);
    for (NamedFrame& frame : second.profile.frames) frame.location = 7;
    merger.add(first.profile);
    merger.add(second.profile);
    const NamedProfile merged = merger.take();
    CHECK(merged.counts.size() == 3);
    for (const NamedFrame& frame : merged.frames) CHECK(frame.location == NamedFrame::no_location);
}

TEST_CASE("facts are added up where that makes sense, and dropped where runs differ") {
    ProfileMerger merger;
    merger.add(with_run(std::move(ProfileOf().folded("a 5\n")), 1, 1000, 100));
    merger.add(with_run(std::move(ProfileOf().folded("a 5\n")), 2, 1050, 200));
    const NamedProfile merged = merger.take();
    CHECK(merged.has_run);
    CHECK(merged.run.command == "server");
    CHECK(merged.run.pid == 0);
    CHECK(merged.run.start_unix_ns == 1000);
    CHECK(merged.summary.duration_ns == 250);
    CHECK(merged.summary.samples == 10);
    CHECK(merged.summary.complete);
    CHECK(merged.summary.counters.at("rows") == 4);
    CHECK(merged.summary.counters.at(std::string(counter::allocation_mean)) == 524288);
    CHECK(merged.warnings.empty());
}

TEST_CASE("own code of each program of a run is own code, by the name that it was called by") {
    ProfileMerger merger;
    // A launcher that lies elsewhere, a program that is a link, and one that was called by two names.
    for (const auto& [path, command] : {std::pair("/usr/bin/env", "env server"),
                                        {"/usr/lib/shop/bin/check", "server --port 1"},
                                        {"/home/me/build/tool", "tool a"},
                                        {"/home/me/build/tool", "other b"}}) {
        ProfileOf made;
        made.folded("main 3\n");
        NamedProfile one = with_run(std::move(made), 1, 0, 1);
        one.run.executable = path;
        one.run.command = command;
        one.functions.front().module = one.strings.intern(path);
        one.functions.push_back(
            {.name = one.strings.intern("price"), .module = one.strings.intern("/home/me/lib/libprice.so")});
        merger.add(one);
    }
    const NamedProfile merged = merger.take();
    CHECK(merged.run.executable == "various");
    CHECK(function_roles(merged) == std::vector<Role>(merged.functions.size(), Role::own));
    CHECK(module_name(merged, "/usr/lib/shop/bin/check") == "server");
    CHECK(module_name(merged, "/home/me/build/tool") == "tool");
    CHECK(module_name(merged, "/usr/lib/libc.so.6") == "libc.so.6");
    ProfileMerger again;  // of merged ones
    again.add(merged);
    CHECK(again.take().programs == merged.programs);
}

TEST_CASE("the provenance of merged runs names every build of every file") {
    ProfileMerger merger;
    for (const char* build : {"\x01", "\x02", "\x01"}) {
        NamedProfile input = with_run(std::move(ProfileOf().folded("a 5\n")), 1, 1000, 100);
        input.mappings.push_back({.kind = MappingKind::file, .path = "/srv/server", .build_id = build});
        input.mappings.push_back({.kind = MappingKind::file, .path = "/lib/libc.so.6", .build_id = "\x0c"});
        merger.add(input);
    }
    const NamedProfile merged = merger.take();
    CHECK(merged.mappings.empty());
    const std::string text = provenance_text(merged);
    CHECK(text.ends_with("build id: /srv/server 01\nbuild id: /lib/libc.so.6 0c\nbuild id: /srv/server 02\n"));
}

TEST_CASE("of parts of one profile, samples that were given up count once") {
    ProfileMerger merger;
    for (const std::uint64_t part : {5, 6, 7}) {
        NamedProfile input = with_run(std::move(ProfileOf().folded("a 5\n")), 1, 1000, 100);
        input.summary.counters[std::string(counter::part)] = part;
        input.summary.counters[std::string(counter::given_up)] = 10 * part;
        merger.add(input);
    }
    const NamedProfile merged = merger.take();
    CHECK(merged.summary.counters.at(std::string(counter::given_up)) == 70);
    CHECK(merged.summary.counters.count(std::string(counter::part)) == 0);
}

TEST_CASE("periods that differ by chance are one frequency, and the mean keeps the CPU time") {
    ProfileMerger merger;
    for (const std::uint64_t period : {10'000'000, 10'090'000}) {
        NamedProfile input = with_run(std::move(ProfileOf().folded("a 5\n")), 1, 1000, 100);
        input.run.period_ns = period;
        merger.add(input);
    }
    const NamedProfile merged = merger.take();
    CHECK(merged.warnings.empty());
    CHECK(merged.run.period_ns == 10'000'000);
}

TEST_CASE("of a method what differs between runs is not told") {
    ProfileMerger merger;
    for (const char* why : {"perf_event_open is permitted here", "was asked for"}) {
        NamedProfile input = with_run(std::move(ProfileOf().folded("a 5\n")), 1, 1000, 100);
        input.run.engine = "ring";
        input.run.engine_reason = why;
        merger.add(input);
    }
    for (const Fact& fact : run_facts(merger.take()))
        if (fact.label == "Method") CHECK(fact.value.starts_with("engine ring; unwinder "));
}

TEST_CASE("a process is the first frame of its stacks, and the table of processes has the heaviest first") {
    ProfileMerger merger;
    std::vector<ProcessShare> shares;
    const auto add = [&](const char* folded, const char* command, std::uint32_t pid) {
        NamedProfile input = with_run(std::move(ProfileOf().folded(folded)), pid, 1000, 100);
        input.run.command = command;
        input.run.period_ns = 1;  // folded text has weights as they are
        input.summary.process_cpu_ns = 1'000'000;
        shares.push_back(put_process_first(input, ProcessNames()));
        merger.add(input);
    };
    add("main;a 3\nmain 1\n", "/bin/sh -c x", 7);
    add("main;a 8\n", "/usr/bin/redis-server *:6379", 9);
    add("main;b 1\n", "/bin/sh -c x", 7);
    const NamedProfile merged = merger.take();
    const std::map<std::string, std::uint64_t> expected = {
        {"sh 7;main;a", 3}, {"sh 7;main", 1}, {"redis-server 9;main;a", 8}, {"sh 7;main;b", 1}};
    CHECK(stacks_of(merged) == expected);
    const auto processes = by_process(shares);
    CHECK(processes.size() == 2);
    const std::string table = process_table(processes);
    CHECK(table.find("redis-server 9") < table.find("sh 7"));
    CHECK(table.find("        5  38.46 %   sh 7\n") != std::string::npos);
    std::string folded, svg;
    write_folded(merged, [&](std::string_view text) { folded += text; });
    CHECK(folded == "redis-server 9;main;a 8\nsh 7;main 1\nsh 7;main;a 3\nsh 7;main;b 1\n");
    const auto tree = build_call_tree(merged, {.min_width = 0});
    REQUIRE(tree);
    CHECK(merged.strings.view(merged.functions[tree->boxes[1].function].name) == "redis-server 9");
}

TEST_CASE("a process's time is what the picture shows of it; of page faults its CPU time") {
    for (const std::uint64_t period : {10, 0}) {
        NamedProfile profile = with_run(std::move(ProfileOf().folded("a 5\n")), 1, 1000, 100);
        profile.summary.process_cpu_ns = 999;
        profile.run.period_ns = period;
        CHECK(put_process_first(profile, ProcessNames()).time_ns == (period == 0 ? 999 : 5));
    }
    CHECK(by_process({{"a", 1, 30, 30, 3}, {"b", 2, 10, 10, 1}, {"a", 1, 5, 5, 1}})[0].time_ns == 35);
}

TEST_CASE("a gate fails with its reason") {
    Summary summary;
    summary.samples = 90;
    summary.rooted = 81;
    summary.lost = 10;
    CHECK(failed_gate({}, 0, nullptr).empty());
    CHECK(failed_gate({.min_samples = 90, .min_rooted = 90, .max_lost = 10}, 90, &summary).empty());
    CHECK(failed_gate({.min_samples = 91}, 90, &summary) == "90 samples, and --min-samples asks for 91");
    CHECK(failed_gate({.min_rooted = 90.5}, 90, &summary).find("90% of the time is rooted, and --min-rooted") == 0);
    CHECK(failed_gate({.max_lost = 9.99}, 90, &summary).find("10% of the time was lost, and --max-lost") == 0);
    CHECK_FALSE(failed_gate({.max_lost = 50}, 90, nullptr).empty());
    CHECK_FALSE(parse_percentage("101"));
    CHECK_FALSE(parse_percentage("many"));
    CHECK(*parse_percentage("99.5%") == 99.5);
}

TEST_CASE("weights beyond 64 bits stop at the largest number") {
    ProfileMerger merger;
    merger.add(ProfileOf().stack({"a"}, ~std::uint64_t{0}).profile);
    merger.add(ProfileOf().stack({"a"}, 9).profile);
    CHECK(merger.take().counts[0].weight == ~std::uint64_t{0});
}

TEST_CASE("runs at different frequencies are weighed by their time, and hits are added") {
    const auto run_at = [](std::uint64_t period, const char* folded, std::uint64_t weight_of_each) {
        NamedProfile profile = with_run(std::move(ProfileOf().folded(folded)), 7, 1000, 10);
        profile.run.period_ns = period;
        profile.summary.samples = profile.summary.hits = 0;
        for (NamedCount& count : profile.counts) {
            profile.summary.hits += count.hits;
            count.weight *= weight_of_each * period;
            profile.summary.samples += count.weight;
        }
        profile.threads = {{7, "server"}};
        profile.summary.threads = {{0, profile.summary.samples, profile.summary.samples}};
        return profile;
    };
    ProfileMerger merger;
    merger.add(run_at(10'000'000, "main;a 100\n", 1));  // 100 Hz: a second
    merger.add(run_at(10'050'000, "main;a 100\n", 1));  // the same frequency
    merger.add(run_at(250'000, "main;b 500\n", 16));    // 4,000 Hz by timers: two seconds
    merger.add(run_at(1'000'000, "main;c 1000\n", 1));  // 1,000 Hz: a second
    const NamedProfile merged = merger.take();
    CHECK(merged.run.period_ns == 1);
    CHECK(merged.merged_runs == 4);
    const auto stacks = stacks_of(merged);
    CHECK(stacks.at("main;a") == 200 * 10'025'000ull);
    CHECK(stacks.at("main;b") == 2'000'000'000);
    CHECK(stacks.at("main;c") == 1'000'000'000);
    CHECK(merged.summary.samples == total_weight(merged));
    CHECK(merged.summary.hits == 1700);
    CHECK(total_hits(merged) == 1700);
    REQUIRE(merged.summary.threads.size() == 1);
    CHECK(merged.summary.threads[0].samples == merged.summary.samples);
    CHECK(merged.warnings.empty());
    CHECK(default_title(merged) == "CPU flame graph of server, 4 runs");
    CHECK(default_subtitle(merged).find(", 1,700 samples") != std::string::npos);
}

TEST_CASE("folded text beside recorded profiles counts periods of the first one, wherever it stands") {
    for (const std::size_t place : {0, 1, 2}) {
        ProfileMerger merger;
        for (std::size_t at = 0; at < 3; ++at) {
            if (at == place) merger.add(std::move(ProfileOf().folded("main;b 3\n")).profile);
            if (at == 2) break;
            NamedProfile run = with_run(std::move(ProfileOf().folded("main;a 7000\n")), 7, 1000, 10);
            run.run.period_ns = at == 0 ? 1000 : 250;  // of several frequencies
            merger.add(run);
        }
        CAPTURE(place);
        CHECK(stacks_of(merger.take()).at("main;b") == 3000);
    }
}

TEST_CASE("runs of one frequency stay in periods; different events cannot be added") {
    ProfileMerger merger;
    merger.add(with_run(std::move(ProfileOf().folded("main;a 5\n")), 7, 1000, 10));
    merger.add(with_run(std::move(ProfileOf().folded("main;a 5\n")), 7, 5000, 10));  // one pid, as in containers
    CHECK(merger.take().run.period_ns == 10);
    ProfileMerger events;
    events.add(with_run(std::move(ProfileOf().folded("main;a 5\n")), 7, 1000, 10));
    NamedProfile faults = with_run(std::move(ProfileOf().folded("main;a 5\n")), 8, 1000, 10);
    faults.run.period_ns = 0;
    faults.run.event = "page-faults";
    events.add(faults);
    const NamedProfile merged = events.take();
    REQUIRE(merged.warnings.size() == 1);
    CHECK(merged.warnings[0].find("different events") != std::string::npos);
}

TEST_CASE("merged waiting time stays in nanoseconds, and with CPU time there is a warning") {
    const auto waits = [] {
        NamedProfile profile = with_run(std::move(ProfileOf().folded("main;read 700\n")), 7, 1000, 10);
        profile.run.event = "offcpu";
        profile.run.period_ns = 1;
        return profile;
    };
    ProfileMerger merger;
    merger.add(waits());
    merger.add(waits());
    const NamedProfile same = merger.take();
    CHECK(total_weight(same) == 1400);
    CHECK(same.run.period_ns == 1);
    CHECK(same.warnings.empty());
    CHECK(default_title(same) == "Off-CPU flame graph of server, 2 runs");
    CHECK(default_subtitle(same).find("sample") == std::string::npos);
    ProfileMerger both;
    both.add(with_run(std::move(ProfileOf().folded("main;a 5\n")), 7, 1000, 10));
    both.add(waits());
    const NamedProfile mixed = both.take();
    REQUIRE(mixed.warnings.size() == 1);
    CHECK(mixed.warnings[0].find("waiting") != std::string::npos);
}

namespace {

ProcessPart part_of(std::uint64_t monotonic, std::uint64_t unix) {
    ProcessPart part;
    part.run.start_monotonic_ns = monotonic;
    part.run.start_unix_ns = unix;
    return part;
}

/// A process of a run whose one stack was sampled in its bins.
NamedProfile process_of(std::uint32_t pid, std::uint64_t start, std::uint64_t bin_ns,
                        const std::vector<std::pair<std::uint32_t, std::uint64_t>>& samples) {
    ProfileOf made;
    std::uint64_t all = 0;
    for (const auto& [bin, weight] : samples) all += weight;
    made.folded("t:cc;work " + std::to_string(all) + "\n");
    made.profile.threads = {{pid, "cc"}};
    NamedProfile profile = with_run(std::move(made), pid, start, 1000);
    profile.run.executable = "/usr/bin/cc";
    profile.run.start_monotonic_ns = start;
    profile.bin_ns = bin_ns;
    for (const auto& [bin, weight] : samples) profile.times.push_back({0, bin, weight, weight});
    return profile;
}

constexpr std::uint64_t ms = 1'000'000;

/// [bin, weight] of a merged profile's times, of all counts.
std::map<std::uint32_t, std::uint64_t> weights_by_bin(const NamedProfile& profile) {
    std::map<std::uint32_t, std::uint64_t> bins;
    for (const TimedWeight& time : profile.times) bins[time.bin] += time.weight;
    return bins;
}

}  // namespace

TEST_CASE("the processes of a run have one time axis") {
    const RunClock clock({part_of(7000 * ms, 1), part_of(5000 * ms, 2)});
    ProfileMerger merger(clock);
    merger.add(process_of(1, 7000 * ms, 2 * ms, {{0, 3}, {50, 1}}));
    merger.add(process_of(2, 5000 * ms, 4 * ms, {{0, 2}, {501, 4}}));  // began first, read last; ends at 2008 ms
    const NamedProfile merged = merger.take();
    CHECK(merged.bin_ns == 4 * ms);  // neither is told finer than it was kept
    const std::map<std::uint32_t, std::uint64_t> expected = {{0, 2}, {500, 3}, {501, 4}, {525, 1}};
    CHECK(weights_by_bin(merged) == expected);
    CHECK(merged.counts[0].weight == 10);
    REQUIRE(std::is_sorted(merged.times.begin(), merged.times.end(),
                           [](const TimedWeight& a, const TimedWeight& b) { return a.bin < b.bin; }));
}

TEST_CASE("steps of a long run are as wide as its length asks for, and few") {
    ProfileMerger merger(RunClock({part_of(1, 1)}));
    for (std::uint64_t i = 0; i < 200; ++i) merger.add(process_of(9, 1 + i * 1000 * ms, ms, {{0, 1}, {999, 1}}));
    const NamedProfile merged = merger.take();
    CHECK(merged.bin_ns == 4 * ms);  // 65,536 steps hold 262 s
    CHECK(merged.times.size() == 400);
    std::uint64_t all = 0;
    for (const TimedWeight& time : merged.times) all += time.weight;
    CHECK(all == 400);
}

TEST_CASE("there is no time axis for several runs, nor where a process has none") {
    ProfileMerger runs;
    runs.add(process_of(1, 1, ms, {{0, 3}}));
    CHECK(runs.take().bin_ns == 0);
    ProfileMerger merger(RunClock({part_of(1, 1)}));
    merger.add(process_of(1, 1, ms, {{0, 3}}));
    NamedProfile without = process_of(2, 1, ms, {{0, 3}});
    without.times.clear();
    without.bin_ns = 0;
    merger.add(without);
    CHECK(merger.take().times.empty());
}

TEST_CASE("threads of one name in two processes of a run stay apart") {
    const std::vector<ProcessPart> parts;
    ProfileMerger merger;
    for (const std::uint32_t pid : {11U, 12U, 11U}) {
        NamedProfile process = process_of(pid, 1, ms, {{0, 1}});
        put_process_first(process, ProcessNames(parts));
        merger.add(process);
    }
    const NamedProfile merged = merger.take();
    REQUIRE(merged.threads.size() == 2);
    CHECK(merged.threads[0].tid == 11);
    CHECK(merged.threads[1].tid == 12);
}

namespace {

/// Processes of one program, of which the first has become it.
std::vector<ProcessPart> parts_of_run(std::size_t alike) {
    std::vector<ProcessPart> parts(1 + alike);
    for (std::size_t at = 0; at < parts.size(); ++at) {
        parts[at].run.pid = static_cast<std::uint32_t>(at == 0 ? 100 : 99 + at);
        parts[at].run.command = at == 0 ? "setpriv postgres" : "postgres -D data";
        parts[at].weight = 10;
        parts[at].has_samples = true;
    }
    return parts;
}

NamedProfile merged_run(const std::vector<ProcessPart>& parts) {
    const ProcessNames names(parts);
    ProfileMerger merger;
    for (const ProcessPart& part : parts) {
        NamedProfile process = process_of(part.run.pid, 1, ms, {{0, 1}});
        process.run = part.run;
        put_process_first(process, names);
        merger.add(process);
    }
    return merger.take();
}

}  // namespace

TEST_CASE("threads of processes that share a box stay apart, unless there are very many") {
    const NamedProfile few = merged_run(parts_of_run(12));
    CHECK(few.threads.size() == 13);
    CHECK(few.threads.back().tid == 111);
    const NamedProfile many = merged_run(parts_of_run(96));
    CHECK(many.threads.size() == 2);
    CHECK(many.threads.back().tid == 0);
}

TEST_CASE("a process is called after what its title says it is for") {
    const auto named = [](const std::string& title) {
        ProcessPart part = parts_of_run(1).front();
        part.run.command = "/usr/sbin/server -c file";
        part.summary.title = title;
        return ProcessNames({part}).name(part.run);
    };
    CHECK(named("postgres: walwriter ") == "postgres: walwriter");
    CHECK(named("postgres: 15/main: autovacuum launcher ") == "postgres: autovacuum launcher");
    CHECK(named("postgres: app2 shop 127.0.0.1(4711) UPDATE waiting") == "postgres: app2 shop");
    CHECK(named("nginx: master process /usr/sbin/nginx -g daemon off;") == "nginx: master process");
    CHECK(named("nginx: worker process is shutting down") == "nginx: worker process");
    CHECK(named("postgres: checkpointer performing shutdown checkpoint") == "postgres: checkpointer");
    CHECK(named("gunicorn: worker [app]") == "gunicorn: worker");
    CHECK(named("postgres: parallel worker for PID 4711 ") == "postgres: parallel worker");
    for (const char* title :
         {"", "nginx: ", "sshd: /usr/sbin/sshd -D [listener]", "redis-server *:6379", "/usr/bin/env: x", "a b: c"})
        CHECK(named(title) == "server");
}

TEST_CASE("processes of one program that are for different things have boxes of their own") {
    std::vector<ProcessPart> parts = parts_of_run(12);
    for (std::size_t at = 1; at < 9; ++at) parts[at].summary.title = "postgres: app shop [local] idle";
    parts.push_back(parts[9]);  // the same process, before it had its title
    parts[9].summary.title = "postgres: walwriter ";
    const ProcessNames names(parts);
    CHECK(names.of(parts[1].run) == "postgres: app shop × 8");
    CHECK(names.of(parts[9].run) == "postgres: walwriter 108");
    CHECK(names.of(parts.back().run) == "postgres: walwriter 108");
    CHECK(names.of(parts[10].run) == "postgres 109");
    CHECK(names.count() == 13);
}

TEST_CASE("a run is called after what its launcher became, and says where most of its time is") {
    std::vector<ProcessPart> parts = parts_of_run(2);
    CHECK(processes_of_run(parts) == "postgres and its children, 3 processes");
    for (ProcessPart& part : parts) part.run.command = part.run.pid == 100 ? "sh run.sh" : "postgres -D data";
    CHECK(processes_of_run(parts) == "sh and its children, 2 processes");
    for (const std::uint64_t weight : {0, 10}) {  // without time of its own the launcher is what it became
        parts[0].run.command = "env X=1 postgres -D data";
        parts[0].weight = weight;
        parts[1].run.command = "postgres -D data";
        CHECK(ProcessNames(parts).count() == (weight == 0 ? 2 : 3));
        CHECK(ProcessNames(parts).name(parts[0].run) == (weight == 0 ? "postgres" : "env"));
    }
    parts[0].run.command = parts[1].run.command = "sh run.sh";
    parts.back().weight = 100;
    CHECK(processes_of_run(parts) == "sh and its children, mostly postgres, 2 processes");
    parts.resize(1);
    CHECK(processes_of_run(parts).empty());
}
