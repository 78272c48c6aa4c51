// What go tool pprof cannot show: how locations are made. The rest is for tests/integration/formats.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "export/pprof_label.hpp"
#include "export/pprof_mappings.hpp"
#include "export/pprof_stacks.hpp"
#include "folded_text.hpp"
#include "sample_profile.hpp"

using namespace flameprobe;

namespace {

using Names = std::vector<std::vector<std::string>>;

/// The names of each location's lines, leaf first.
Names names(const NamedProfile& profile, PprofStacks& stacks, const NamedCount& count) {
    PprofStacks::Stack stack;
    stacks.stack(count.node, stack);
    Names names;
    std::vector<FrameId> frames;
    for (const std::uint64_t location : stack.locations) {
        stacks.frames(location, frames);
        names.emplace_back();
        for (const FrameId frame : frames) names.back().emplace_back(profile.name(frame));
    }
    return names;
}

}  // namespace

TEST_CASE("functions inlined at an address are lines of one location, innermost first") {
    const SampleProfile sample;
    const NamedProfile& profile = sample.get();
    PprofStacks stacks(profile);
    const std::string parse = "ns::parse<int, char>(char const*, unsigned int)";
    CHECK(names(profile, stacks, profile.counts[1]) == Names{{parse}, {"main"}});
    CHECK(names(profile, stacks, profile.counts[2]) == Names{{"is_space(char)", "trim(char*)", parse}, {"main"}});
    CHECK(names(profile, stacks, profile.counts[4]) == Names{{"trim(char*)"}, {"main"}});
    // A scope is a label, and does not part a stack.
    CHECK(names(profile, stacks, profile.counts[8]) == Names{{parse}, {"main"}});
}

TEST_CASE("folded text has inlined functions, too") {
    const NamedProfile profile = read_folded("main;a;b_[i];c_[i];d 1\nmain_[i] 1\n").profile;
    PprofStacks stacks(profile);
    CHECK(names(profile, stacks, profile.counts[0]) == Names{{"d"}, {"c", "b", "a"}, {"main"}});
    CHECK(names(profile, stacks, profile.counts[1]) == Names{{"main"}});
}

TEST_CASE("the main program is the first mapping") {
    const SampleProfile sample;
    PprofMappings mappings(sample.get());
    for (const NamedFrame& frame : sample.get().frames) mappings.of(frame);
    REQUIRE(mappings.all().size() == 3);
    CHECK(mappings.all()[0].file == "/usr/bin/demo");
    CHECK(mappings.all()[0].build_id == "ab00cd");
    CHECK(mappings.all()[0].limit == 0x408000);
    std::set<std::string> files;
    for (const PprofMapping& mapping : mappings.all()) files.insert(mapping.file);
    CHECK(files == std::set<std::string>{"/usr/bin/demo", "/usr/lib/libdemo.so", "[kernel.kallsyms]"});
}

TEST_CASE("a scope with key and value is a label of that name") {
    using Label = std::pair<std::string_view, std::string_view>;
    CHECK(pprof_label("tenant=acme") == Label("tenant", "acme"));
    CHECK(pprof_label("http.route=/a?b=c") == Label("http.route", "/a?b=c"));
    CHECK(pprof_label("m\xc3\xa4\x64\x63hen=1") == Label("m\xc3\xa4\x64\x63hen", "1"));
    for (const std::string_view text : {"checkout", "x == 1", "x==1", "a b=c", "=c", "a=", "=", "", "f(x=1)"}) {
        CHECK(pprof_label(text) == Label("scope", text));
    }
    // A label of ours keeps its meaning.
    for (const std::string_view text : {"thread=main", "tid=5", "scope=checkout"}) {
        CHECK(pprof_label(text) == Label("scope", text));
    }
}
