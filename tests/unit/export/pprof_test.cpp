// How locations, labels and values are made, which go tool pprof does not show. The rest: tests/integration/formats.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "export/profile_tables.hpp"
#include "folded_text.hpp"
#include "sample_profile.hpp"

using namespace flameprobe;

namespace {

using Names = std::vector<std::vector<std::string>>;

/// The names of each location's lines, leaf first.
Names names(const NamedProfile& profile, const ProfileTables& tables, std::size_t sample) {
    std::vector<std::uint64_t> locations;
    tables.stack(tables.samples()[sample].stack, locations);
    Names names;
    for (const std::uint64_t location : locations) {
        names.emplace_back();
        for (const auto& line : tables.lines(tables.locations()[location - 1]))
            names.back().emplace_back(
                profile.strings.view(profile.functions[tables.functions()[line.function - 1]].name));
    }
    return names;
}

std::string text_of(const std::vector<SampleLabel>& labels) {
    std::string text;
    for (const SampleLabel& label : labels)
        text += label.key + "=" + (label.text.empty() ? std::to_string(label.number) : label.text) + "|";
    return text;
}

NamedProfile with_scopes(std::size_t distinct) {
    NamedProfile profile;
    profile.nodes.emplace_back();
    const auto frame = [&](const std::string& name, FrameKind kind) {
        profile.functions.push_back({profile.strings.intern(name), 0, 0, 0, kind});
        profile.frames.push_back({static_cast<FunctionId>(profile.functions.size() - 1), 0, NamedFrame::no_location});
        return static_cast<FrameId>(profile.frames.size() - 1);
    };
    const FrameId main = frame("main", FrameKind::user);
    for (std::size_t i = 0; i < distinct; ++i) {
        profile.nodes.push_back({0, frame("user=" + std::to_string(i), FrameKind::scope)});
        profile.nodes.push_back({static_cast<NodeId>(profile.nodes.size() - 1), main});
        profile.counts.push_back({static_cast<NodeId>(profile.nodes.size() - 1), 0, i + 1, i + 1});
    }
    return profile;
}

}  // namespace

TEST_CASE("functions inlined at an address are lines of one location, innermost first") {
    const SampleProfile sample;
    const NamedProfile& profile = sample.get();
    const ProfileTables tables(profile, ThreadLabels::exact);
    const std::string parse = "ns::parse<int, char>(char const*, unsigned int)";
    CHECK(names(profile, tables, 1) == Names{{parse}, {"main"}});
    CHECK(names(profile, tables, 2) == Names{{"is_space(char)", "trim(char*)", parse}, {"main"}});
    CHECK(names(profile, tables, 4) == Names{{"trim(char*)"}, {"main"}});
    // A scope is a label, not a frame of the stack.
    CHECK(names(profile, tables, 8) == Names{{parse}, {"main"}});
}

TEST_CASE("folded text has inlined functions, too") {
    const NamedProfile profile = read_folded("main;a;b_[i];c_[i];d 1\nmain_[i] 1\n").profile;
    const ProfileTables tables(profile, ThreadLabels::none);
    CHECK(names(profile, tables, 0) == Names{{"d"}, {"c", "b", "a"}, {"main"}});
    CHECK(names(profile, tables, 1) == Names{{"main"}});
}

TEST_CASE("the main program is the first mapping") {
    const SampleProfile sample;
    const ProfileTables tables(sample.get(), ThreadLabels::none);
    REQUIRE(tables.mappings().size() == 3);
    CHECK(tables.mappings()[0].file == "/usr/bin/demo");
    CHECK(tables.mappings()[0].build_id == "ab00cd");
    CHECK(tables.mappings()[0].limit == 0x408000);
    std::set<std::string> files;
    for (const auto& mapping : tables.mappings()) files.insert(mapping.file);
    CHECK(files == std::set<std::string>{"/usr/bin/demo", "/usr/lib/libdemo.so", "[kernel.kallsyms]"});
}

TEST_CASE("threads of one stack are one sample unless labels tell them apart") {
    NamedProfile profile = read_folded("main;a 3\n").profile;
    profile.threads = {{7, "worker 1"}, {8, "worker 12"}};
    profile.counts.push_back({profile.counts[0].node, 1, 4, 4});
    const ProfileTables none(profile, ThreadLabels::none);
    REQUIRE(none.samples().size() == 1);
    CHECK(none.samples()[0].weight == 7);
    CHECK(none.labels().set(none.samples()[0].labels).empty());
    const ProfileTables folded(profile, ThreadLabels::folded);
    REQUIRE(folded.samples().size() == 1);
    CHECK(text_of(folded.labels().set(folded.samples()[0].labels)) == "thread=worker *|");
    const ProfileTables exact(profile, ThreadLabels::exact);
    REQUIRE(exact.samples().size() == 2);
    CHECK(text_of(exact.labels().set(exact.samples()[1].labels)) == "thread=worker 12|tid=8|");
}

TEST_CASE("code without a name has no lines, and its mapping no functions") {
    NamedProfile profile;
    profile.nodes.emplace_back();
    profile.has_run = true;
    profile.mappings = {{MappingKind::file, 0x1000, 0x1000, 0, 0, "/lib/libx.so", "\x01"},
                        {MappingKind::file, 0x8000, 0x1000, 0, 0, "/lib/liby.so", "\x02"}};
    profile.locations = {{0, 0x1100}, {1, 0x8100}, {0, 0x1200}};
    profile.functions = {{profile.strings.intern("[unknown in libx.so]"), 0, 0, 0, FrameKind::user},
                         {profile.strings.intern("known"), 0, 0, 0, FrameKind::user},
                         {profile.strings.intern("[libx.so+0x180]"), 0, 0, 0, FrameKind::user}};
    profile.frames = {{0, 0, 0}, {1, 5, 1}, {2, 0, 2}};
    profile.nodes.push_back({0, 1});
    profile.nodes.push_back({1, 0});
    profile.nodes.push_back({2, 2});
    profile.counts = {{3, 0, 9}};
    const ProfileTables tables(profile, ThreadLabels::none);
    CHECK(names(profile, tables, 0) == Names{{}, {}, {"known"}});
    CHECK(tables.functions().size() == 1);
    REQUIRE(tables.locations().size() == 3);
    CHECK(tables.locations()[0].address == 0x1200);
    CHECK(tables.locations()[1].address == 0x1100);
    REQUIRE(tables.mappings().size() == 2);
    CHECK_FALSE(tables.mappings()[0].has_functions);
    CHECK(tables.mappings()[0].build_id == "01");
    CHECK(tables.mappings()[1].has_functions);
}

TEST_CASE("a scope with key and value is a label of that name") {
    using Label = std::pair<std::string, std::string_view>;
    CHECK(label_of_scope("tenant=acme") == Label("tenant", "acme"));
    // Engines take the names that Prometheus takes.
    CHECK(label_of_scope("http.route=/a?b=c") == Label("http_route", "/a?b=c"));
    CHECK(label_of_scope("4th=x") == Label("_4th", "x"));
    for (const std::string_view text : {"checkout", "x == 1", "x==1", "a b=c", "=c", "a=", "=", "", "f(x=1)"}) {
        CHECK(label_of_scope(text) == Label("scope", text));
    }
    // Names that FlameProbe or a server uses itself are not taken for keys.
    for (const std::string_view text :
         {"thread=main", "tid=5", "scope=checkout", "service_name=x", "__name__=x", "service.name=x"}) {
        CHECK(label_of_scope(text) == Label("scope", text));
    }
}

TEST_CASE("rare values of labels are gathered in [other], so that a server does not get a series of each") {
    const NamedProfile profile = with_scopes(1000);
    const ProfileTables tables(profile, ThreadLabels::none);
    std::set<std::string> sets;
    std::uint64_t weight = 0, other = 0;
    for (const auto& sample : tables.samples()) {
        const std::string text = text_of(tables.labels().set(sample.labels));
        sets.insert(text);
        weight += sample.weight;
        if (text == "user=[other]|") other += sample.weight;
    }
    CHECK(sets.size() == SampleLabels::most_sets + 1);
    CHECK(sets.contains("user=999|"));  // the heaviest
    CHECK(weight == 1000 * 1001 / 2);
    CHECK(other == 800 * 801 / 2);
    CHECK(tables.labels().gathered() == 800);
}

TEST_CASE("a value that is too long for a server is cut between characters") {
    NamedProfile profile = read_folded("main 1\n").profile;
    std::string name;
    for (int i = 0; i < 300; ++i) name += "\xc3\xa4";
    profile.threads = {{7, name}};
    const ProfileTables tables(profile, ThreadLabels::folded);
    const std::string text = tables.labels().set(tables.samples()[0].labels)[0].text;
    CHECK(text.size() <= SampleLabels::most_bytes);
    CHECK(text.ends_with("\xa4..."));
}

TEST_CASE("a value's type is the event's name, with '_' for '-'") {
    NamedProfile profile;
    CHECK(values_of(profile).of_sample.back().type == "samples");
    profile.has_run = true;
    profile.run.event = "cpu-clock";
    profile.run.period_ns = 10;
    CHECK(values_of(profile).of_sample.back().type == "cpu");
    CHECK(values_of(profile).of_sample.back().unit == "nanoseconds");
    CHECK(amount(values_of(profile).of_sample.back(), 30, 3) == 30);
    profile.run.event = "page-faults";
    profile.run.event_kind = "software event";
    profile.run.period_ns = 0;
    const ProfileValues faults = values_of(profile);
    REQUIRE(faults.of_sample.size() == 1);
    CHECK(faults.of_sample[0].type == "page_faults");
    CHECK(faults.of_sample[0].unit == "count");
    CHECK(faults.period_type == "page_faults");
    CHECK(faults.period == 1);
    profile.run.event = "cache-misses";
    profile.run.event_kind = "hardware counter";
    CHECK(values_of(profile).of_sample[0].type == "cache_misses");
    CHECK(values_of(profile).of_sample[0].unit == "samples");
    CHECK(values_of(profile).period == 0);
    for (const auto& [event, type] : {std::pair("alloc", "alloc_space"), std::pair("heap", "inuse_space")}) {
        profile.run.event = event;
        profile.run.event_kind = "software event";
        CHECK(values_of(profile).of_sample.front().is_hits);
        CHECK(values_of(profile).of_sample.back().type == type);
        CHECK(values_of(profile).of_sample.back().unit == "bytes");
    }
}

TEST_CASE("the number of samples is their hits, the time is their weight") {
    NamedProfile profile = with_scopes(1);
    profile.counts.push_back({profile.counts[0].node, 1, 15, 1});  // another thread's: of one stack, so one sample
    const ProfileTables tables(profile, ThreadLabels::none);
    REQUIRE(tables.samples().size() == 1);
    CHECK(tables.samples()[0].weight == 16);
    CHECK(tables.samples()[0].hits == 2);
    profile.has_run = true;
    profile.run.event = "cpu-clock";
    for (const std::uint64_t period : {std::uint64_t{1}, std::uint64_t{250'000}}) {
        profile.run.period_ns = period;
        const auto values = values_of(profile).of_sample;
        REQUIRE(values.size() == 2);
        CHECK(values[0].type == "samples");
        CHECK(amount(values[0], 16, 2) == 2);
        CHECK(amount(values[1], 16, 2) == 16);
    }
}
