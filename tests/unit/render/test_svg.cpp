#include <doctest/doctest.h>

#include <algorithm>

#include "count_of.hpp"
#include "demo_profile.hpp"
#include "render/flame_graph.hpp"
#include "render/run_facts.hpp"

using namespace flameprobe;
using test::count_of;
using test::ProfileOf;

namespace {

std::string svg_of(const NamedProfile& profile, const FlameGraphOptions& options = {}) {
    std::string out;
    const auto done = write_svg(profile, options, [&](std::string_view piece) { out += piece; });
    REQUIRE(done);
    return out;
}

/// A parser of as much XML as the writer writes: checks nesting, attributes, entities and characters.
bool well_formed(std::string_view text) {
    std::vector<std::string> open;
    const auto character_data = [](std::string_view data) {
        for (std::size_t at = 0; at < data.size(); ++at) {
            if (data[at] == '<' || (static_cast<unsigned char>(data[at]) < 0x20 && data[at] != '\n')) return false;
            if (data[at] != '&') continue;
            const auto entity = data.substr(at, data.find(';', at) - at + 1);
            static constexpr std::string_view known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
            if (std::ranges::find(known, entity) == std::end(known)) return false;
        }
        return data.find("]]>") == std::string_view::npos;
    };
    while (!text.empty()) {
        const auto tag = text.find('<');
        if (!character_data(text.substr(0, tag))) return false;
        if (tag == std::string_view::npos) break;
        text.remove_prefix(tag);
        if (text.starts_with("<![CDATA[")) {
            text.remove_prefix(std::min(text.size(), text.find("]]>") + 3));
            continue;
        }
        const auto end = text.find('>');
        if (end == std::string_view::npos) return false;
        const std::string_view body = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        if (body.starts_with("?")) continue;
        if (body.starts_with("/")) {
            if (open.empty() || open.back() != body.substr(1)) return false;
            open.pop_back();
            continue;
        }
        if (std::ranges::count(body, '"') % 2 != 0 || !character_data(body)) return false;
        if (!body.ends_with("/")) open.emplace_back(body.substr(0, body.find(' ')));
    }
    return open.empty();
}

}  // namespace

TEST_CASE("well_formed() of these tests finds faults") {
    CHECK(well_formed("<a b=\"1\"><c/>x &lt;</a>"));
    CHECK(!well_formed("<a><b></a></b>"));
    CHECK(!well_formed("<a>&</a>"));
    CHECK(!well_formed("<a>\x01</a>"));
    CHECK(!well_formed("<a b=\"1></a>"));
}

TEST_CASE("the same profile gives the same bytes") {
    const std::string first = svg_of(test::demo_profile());
    CHECK(first == svg_of(test::demo_profile()));
    CHECK(well_formed(first));
    // Samples in another order are the same profile.
    const std::string forwards = svg_of(ProfileOf().folded("a;b 1\na;c 2\nd 3\n").profile);
    CHECK(forwards == svg_of(ProfileOf().folded("d 3\na;c 2\na;b 1\n").profile));
}

TEST_CASE("[preempted] stands behind the functions beside it, even where it is the heaviest") {
    ProfileOf made;
    made.stack({"t:w", "n:[preempted]"}, 8).stack({"t:w", "waits"}, 3);
    const std::string svg = svg_of(made.profile);
    CHECK(svg.find("<title>waits\n") < svg.find("<title>[preempted]\n"));
}

TEST_CASE("the heaviest sibling stands first, or they stand by name") {
    ProfileOf made;
    made.folded("m;a 1\nm;b 8\nm;c 3\n");
    const auto places = [&](std::optional<bool> by_weight) {
        FlameGraphOptions options;
        options.by_weight = by_weight;
        const std::string svg = svg_of(made.profile, options);
        return std::vector{svg.find("<title>a\n"), svg.find("<title>b\n"), svg.find("<title>c\n")};
    };
    CHECK(places(false)[0] < places(false)[1]);
    CHECK(places(false)[1] < places(false)[2]);
    for (const std::optional<bool> by_weight : {std::optional<bool>(), std::optional(true)}) {
        CHECK(places(by_weight)[1] < places(by_weight)[2]);
        CHECK(places(by_weight)[2] < places(by_weight)[0]);
    }
}

TEST_CASE("names, counts, shares, places and kinds are in the text") {
    const std::string text = svg_of(test::demo_profile());
    for (const char* part : {"Parser::parse(std::string_view)\n5.07 s (16.13 %), self 3.34 s (10.64 %), 502 "
                             "samples\nPar.cpp:7, demo</title>",
                             "[parse]\n5.07 s (16.13 %), self 0, 502 samples\nscope</title>",
                             "kernel</title>",
                             "inlined, ",
                             ">server<tspan class=\"pc\" dx=\"7\">29.7 %</tspan>",
                             ">main</text>",
                             "CPU flame graph of server, pid 4711",
                             "./server --port 8080",
                             "2025-11-21 01:10:12 UTC",
                             "12.35 s",
                             "cpu-clock (software clock)",
                             "99 Hz asked",
                             "engine ring",
                             "unwinder dwarf",
                             "lost 14",
                             "truncated 9 (0.29 %)",
                             "rooted 3,103 (99.71 %)",
                             "99.24 %",
                             "41 ms",
                             "9 MiB"}) {
        CAPTURE(part);
        CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("the program's code bears its name, not that of the file that a link led to") {
    NamedProfile profile = test::demo_profile();
    profile.run.executable = "/usr/bin/demo";
    profile.run.command = "shop --port 1";
    const std::string text = svg_of(profile);
    CHECK(text.find("\nPar.cpp:7, shop</title>") != std::string::npos);
    CHECK(text.find(", demo</title>") == std::string::npos);
}

TEST_CASE("a picture of folded text has no facts about a run") {
    const std::string text = svg_of(ProfileOf().folded("a;b 1\n").profile);
    CHECK(text.find("Coverage") == std::string::npos);
    CHECK(text.find("class=\"fact\"") == std::string::npos);
    CHECK(run_facts(ProfileOf().folded("a 1\n").profile).empty());
}

TEST_CASE("hostile names are escaped and cut") {
    ProfileOf made;
    const std::vector<std::string> names = {"</script><script>alert(1)</script>",
                                            "]]>",
                                            "<![CDATA[",
                                            "&lt;",
                                            "\"' onload=\"x",
                                            std::string("\0\x01\x02", 3),
                                            "\xff\xfe\x80",
                                            "\xED\xA0\x80",
                                            "operator<<",
                                            "a\nb",
                                            "",
                                            std::string(100'000, 'x'),
                                            "漢字漢字漢字漢字漢字",
                                            "$&$1",
                                            "<!--",
                                            "-->"};
    for (const std::string& name : names) made.stack({"main", name, "leaf of " + name}, 1);
    made.profile.warnings.push_back("<b>&\x01");
    FlameGraphOptions options;
    options.title = "<title> & \"more\" \x02 </svg>";
    options.subtitle = "\xff]]>";
    const std::string text = svg_of(made.profile, options);
    CHECK(well_formed(text));
    CHECK(text.find("<script>alert") == std::string::npos);
    CHECK(count_of(text, "<script>") == 1);
    CHECK(text.size() < 60'000);
}

TEST_CASE("a picture for a README has no more than 150 kB, whatever the profile") {
    const std::string argument = "(std::map<" + std::string(5'000, 'k') + ", int>)";
    ProfileOf made;
    // Boxes of one width are folded, so each function has time of its own.
    for (int tower = 0; tower < 50; ++tower) {
        std::vector<std::string> stack{"main"};
        for (int row = 0; row < 40; ++row) {
            stack.push_back("shop::of_tower_" + std::to_string(tower) + "::function_" + std::to_string(row) + "::f" +
                            (row == 0 ? argument : "()"));
            made.stack(stack, 1);
        }
    }
    FlameGraphOptions options;
    options.min_width = 0.5;
    CHECK(svg_of(made.profile, options).size() > 150'000);
    options.brief = true;
    const std::string text = svg_of(made.profile, options);
    CHECK(text.size() <= 150'000);
    CHECK(count_of(text, "</title><rect") > 100);
    // Where names are few and short, boxes are what it has too many of.
    for (int tower = 50; tower < 100; ++tower) {
        std::vector<std::string> stack{"main"};
        for (int row = 0; row < 40; ++row) {
            stack.push_back("of_tower_" + std::to_string(tower) + "::" + std::string(60, 'f') + std::to_string(row));
            made.stack(stack, 1);
        }
    }
    options.brief = false;
    options.min_width = 0.01;
    options.every_frame = true;
    CHECK(svg_of(made.profile, options).size() > 150'000);
    options.brief = true;
    CHECK(svg_of(made.profile, options).size() <= 150'000);
}

TEST_CASE("a picture for a README has no rows that hardly any time reaches") {
    ProfileOf made;
    std::vector<std::string> narrow{"main"}, wide{"main"};
    for (int row = 0; row < 20; ++row) {
        narrow.push_back("send_" + std::to_string(row));
        made.stack(narrow, row == 19 ? 10 : 1);  // time of its own, so it is not folded
    }
    for (int row = 0; row < 5; ++row) wide.push_back("answer_" + std::to_string(row));
    made.stack(wide, 400);
    FlameGraphOptions options;
    CHECK(svg_of(made.profile, options).find("<title>send_19\n") != std::string::npos);
    options.brief = true;
    const std::string text = svg_of(made.profile, options);
    CHECK(text.find("<title>send_3\n") != std::string::npos);
    CHECK(text.find("<title>send_19\n") == std::string::npos);
    CHECK(text.find(" frames above\n") != std::string::npos);
}

TEST_CASE("size is bounded by the minimum width, not by the number of stacks") {
    ProfileOf made;
    for (int i = 0; i < 5'000; ++i) made.stack({"main", "f" + std::to_string(i), "g" + std::to_string(i)}, 1);
    made.stack({"main", "busy"}, 15'000);
    const std::string text = svg_of(made.profile);
    CHECK(count_of(text, "</title><rect") == 4);
    CHECK(text.find("5,000 frames") != std::string::npos);
    ProfileOf few;
    for (int i = 0; i < 1'000; ++i) few.stack({"main", "f" + std::to_string(i), "g" + std::to_string(i)}, 1);
    few.stack({"main", "busy"}, 20'000);
    FlameGraphOptions all;
    CHECK(count_of(svg_of(few.profile, all), "</title><rect") == 4);
    all.min_width = 0;
    CHECK(count_of(svg_of(few.profile, all), "</title><rect") == 2'003);
}

TEST_CASE("a frame takes little more than 200 bytes") {
    ProfileOf made;
    for (int i = 0; i < 30; ++i) {
        for (int j = 0; j < 30; ++j) {
            made.stack({"main", "Namespace::Class" + std::to_string(i) + "::method(int)",
                        "std::vector<int>::function" + std::to_string(j) + "()"},
                       10);
        }
    }
    const std::string text = svg_of(made.profile);
    const std::string small = svg_of(ProfileOf().folded("main 1\n").profile);
    const std::size_t frames = count_of(text, "</title><rect");
    CHECK(frames == 932);
    CHECK((text.size() - small.size()) / frames <= 215);
}

TEST_CASE("an icicle has its root at the top") {
    ProfileOf made;
    made.folded("main;leaf 1\n");
    const NamedProfile& profile = made.profile;
    FlameGraphOptions icicle;
    icicle.icicle = true;
    CHECK(svg_of(profile).find("lea.cpp:7, demo</title><rect x=\"0%\" y=\"0\"") != std::string::npos);
    CHECK(svg_of(profile, icicle).find("self 100.00 %\nlea.cpp:7, demo</title><rect x=\"0%\" y=\"36\"") !=
          std::string::npos);
}

TEST_CASE("pictures that share a page have ids of their own") {
    const auto id = [](const std::string& text) { return text.substr(text.find(" id=\"") + 5, 10); };
    CHECK(id(svg_of(ProfileOf().folded("a 1\n").profile)) != id(svg_of(ProfileOf().folded("b 1\n").profile)));
}

TEST_CASE("threads that are alike are one box, unless each is asked for") {
    ProfileOf made;
    for (int i = 0; i < 32; ++i) made.stack({"t:worker-" + std::to_string(i), "run"}, 1);
    for (const char* name : {"io0", "io1", "timer1", "main"}) made.stack({std::string("t:") + name, "run"}, 1);
    FlameGraphOptions all;
    all.each_thread = true;
    const std::string svg = svg_of(made.profile), each = svg_of(made.profile, all);
    CHECK(count_of(svg, "<title>worker-") == 1);
    CHECK(svg.find("<title>worker-*\n32 samples (88.89 %)") != std::string::npos);
    CHECK(count_of(svg, "<title>io*\n2 samples") == 1);
    CHECK(count_of(svg, "<title>timer1\n") == 1);
    CHECK(count_of(each, "<title>worker-") == 32);
    CHECK(made.profile.name(made.profile.nodes[1].frame) == "worker-0");
}

TEST_CASE("without samples no picture is written") {
    std::string out;
    const auto done = write_svg(NamedProfile{}, {}, [&](std::string_view piece) { out += piece; });
    REQUIRE(!done);
    CHECK(done.error().message.find("no samples") != std::string::npos);
    CHECK(out.empty());
}
