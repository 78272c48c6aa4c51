// A small profile with every kind of record in it.
#pragma once

#include "profile/sink.hpp"

namespace flameprobe::test {

inline void write_example(ProfileSink& out) {
    RunInfo run;
    run.version = "0.1.0";
    run.command = "./server --port 80";
    run.executable = "/opt/server";
    run.pid = 4242;
    run.start_unix_ns = 1'700'000'000'123'456'789u;
    run.frequency_asked = 99;
    run.period_ns = 10'101'010;
    run.stack_bytes = 16384;
    run.facts = {{"CPU", "a fast one"}, {"commit", "none"}};
    out.run(run);
    out.string(0, "checkout");
    out.string(1, std::string("with\0zero", 9));
    out.mapping(0, {MappingKind::file, 0x400000, 0x1000, 0x1000, 0, "/opt/server", std::string("\x12\x34\xff", 3)});
    out.mapping(1, {MappingKind::kernel, 0, 0, 0, 0, "[kernel]", ""});
    out.mapping(2, {MappingKind::scope, 0, 0, 0, 0, "", ""});
    out.mapping(3, {MappingKind::note, 0, 0, 0, 0, "", ""});
    out.thread(0, {4242, "main"});
    out.location(0, {0, 0x400123});
    out.location(1, {0, 0x400023});
    out.location(2, {1, 0xffffffff81000000});
    out.location(3, {2, 1});
    out.location(4, {3, 3});
    out.stack(1, {0, 0});
    out.stack(2, {1, 3});
    out.stack(3, {2, 1});
    out.stack(4, {1, 2});
    out.sample({1'000'000, 0, 3, 1});
    out.thread(1, {4243, "worker;1"});
    out.sample({900'000, 1, 4, 7, 3});
    out.sample({~std::uint64_t{0}, 1, 0, ~std::uint64_t{0}});
    out.host(WorkCount{950'000, "requests", 12});
    out.host(RequestTimes{960'000, "checkout", 1, 7'000'000, 5'000'000, 1, {2000, 2, 55, 1}, false});
    out.host(Passing{1, 0, 100'000, 5'000'000, Passing::failed | Passing::sampled});
    out.thread(1, {4243, "renamed"});
    out.event(1, {"offcpu", "waiting time", 99, 1});
    out.event(2, {"page-faults", "software event", 0, 0});
    out.event_sample(1, {5'000'000, 1, 3, 123'456, 1});
    out.event_sample(2, {4'000'000, 0, 0, 1, 0});
    out.event_sample(2, {4'500'000, 0, 0, 1, 1, 300'000});
    Summary summary;
    summary.complete = true;
    summary.samples = 9;
    summary.threads = {{0, 5'000'000, 1}, {1, 6'000'000, 8}};
    summary.counters = {{"rows", 12}, {"misses", 3}};
    out.summary(summary);
    out.symbols(1, {{0, 1, 10, 0, true}, {1, 0, 20, 5, false}});
    out.host(Death{11, 1, 4243, 0xdead, 77, {0x400123, 0x400023}});
}

}  // namespace flameprobe::test
