#include "export/all_events.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "export/profile_tables.hpp"
#include "folded_text.hpp"
#include "render/run_facts.hpp"

using namespace flameprobe;

namespace {

/// CPU time in a and b, waiting in a and c.
NamedProfile with_waits() {
    NamedProfile profile = read_folded("main;a 3\nmain;b 1\n").profile;
    NamedProfile waits = read_folded("main;a;futex 500\nmain;c;read 7000\n").profile;
    for (NamedProfile* event : {&profile, &waits}) {
        event->has_run = true;
        event->run.event = "cpu-clock";
        event->run.period_ns = 10;
    }
    waits.run.event = "offcpu";
    waits.run.period_ns = 1;
    waits.counts[0].hits = 2;
    waits.counts[1].hits = 3;
    profile.others.push_back(std::move(waits));
    return profile;
}

std::string written_text(void (*write)(const NamedProfile&, const ByteSink&), const NamedProfile& profile) {
    std::string text;
    write(profile, [&](std::string_view piece) { text += piece; });
    return text;
}

}  // namespace

TEST_CASE("the events of a profile share functions, and keep their counts apart") {
    const NamedProfile profile = with_waits();
    const AllEvents events(profile);
    REQUIRE(events.parts().size() == 2);
    CHECK(events.parts()[1].event->run.event == "offcpu");
    const NamedProfile& tables = events.tables();
    CHECK(tables.functions.size() == 6);  // main a b c futex read
    REQUIRE(tables.counts.size() == 4);
    CHECK(events.parts()[0].end == 2);
    std::uint64_t waits = 0;
    for (std::size_t at = 2; at < 4; ++at) waits += tables.counts[at].weight;
    CHECK(waits == 7500);
    for (NodeId node = 1; node < tables.nodes.size(); ++node) CHECK(tables.nodes[node].parent < node);
    CHECK(tables.name(tables.nodes[tables.counts[3].node].frame) == "read");
}

TEST_CASE("a profile with one event is not copied") {
    const NamedProfile profile = read_folded("main;a 3\n").profile;
    CHECK(&AllEvents(profile).tables() == &profile);
}

TEST_CASE("a sample of pprof has a value for each event") {
    const NamedProfile profile = with_waits();
    const AllEvents events(profile);
    const ProfileTables tables(events, ThreadLabels::none);
    std::uint64_t cpu = 0, waits = 0, hits = 0;
    for (const auto& sample : tables.samples()) {
        REQUIRE(sample.others.size() == 1);
        cpu += sample.weight;
        waits += sample.others[0].weight;
        hits += sample.others[0].hits;
    }
    CHECK(cpu == 4);
    CHECK(waits == 7500);
    CHECK(hits == 5);
}

TEST_CASE("speedscope and the Firefox Profiler have a profile for each thread and event, JSON a list") {
    const NamedProfile profile = with_waits();
    const auto scopes = nlohmann::json::parse(written_text(write_speedscope, profile));
    REQUIRE(scopes["profiles"].size() == 2);
    CHECK(scopes["profiles"][0]["endValue"] == 4);
    CHECK(scopes["profiles"][1]["endValue"] == 7500);
    CHECK(scopes["profiles"][1]["name"].get<std::string>().ends_with(", offcpu"));
    CHECK(scopes["activeProfileIndex"] == 0);
    const auto firefox = nlohmann::json::parse(written_text(write_firefox, profile));
    REQUIRE(firefox["threads"].size() == 2);
    CHECK(firefox["threads"][1]["samples"]["weightType"] == "tracing-ms");
    const auto summary = nlohmann::json::parse(written_text(write_json, profile));
    REQUIRE(summary["other_events"].size() == 1);
    CHECK(summary["other_events"][0]["event"] == "offcpu");
    CHECK(summary["other_events"][0]["stack_ns"] == 7500);
    CHECK(summary["other_events"][0]["stack_samples"] == 5);
}

TEST_CASE("waiting time is folded in microseconds") {
    NamedProfile profile = read_folded("main;a 1400\nmain;b 1600\nmain;c 300\n").profile;
    profile.has_run = true;
    profile.run.event = "offcpu";
    CHECK(folded(profile) == "main;a 1\nmain;b 2\n");
}

TEST_CASE("waiting is measured in time, never in samples") {
    const NamedProfile profile = with_waits();
    const NamedProfile& waits = profile.others[0];
    const auto values = values_of(waits).of_sample;
    REQUIRE(values.size() == 1);
    CHECK(values[0].type == "offcpu");
    CHECK(values[0].unit == "nanoseconds");
    CHECK(default_subtitle(waits).find("sample") == std::string::npos);
    for (const Fact& fact : run_facts(waits)) CHECK(fact.label != "Samples");
}
