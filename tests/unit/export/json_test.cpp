// The structure of the JSON outputs; that the real tools read them is for tests/integration/formats.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "export/json_stream.hpp"
#include "folded_text.hpp"
#include "sample_profile.hpp"

using namespace flameprobe;
using nlohmann::json;

namespace {

template <class Write>
json written(const Write& write, const NamedProfile& profile) {
    std::string text;
    write(profile, [&text](std::string_view piece) { text += piece; });
    return json::parse(text);
}

std::uint64_t sum(const json& numbers) {
    std::uint64_t all = 0;
    for (const auto& number : numbers) all += number.get<std::uint64_t>();
    return all;
}

}  // namespace

TEST_CASE("a JSON stream puts in commas and escapes text") {
    std::string text;
    const ByteSink sink = [&text](std::string_view piece) { text += piece; };
    JsonStream out(sink);
    out.begin_object().key("a").begin_array().number(1).null().text("\"\xff\n").end_array();
    out.key("b").begin_object().end_object().key("c").real(0.5).key("d").boolean(true);
    out.key("e").repeat(2, [&] { out.signed_number(-1); }).key("f").begin_array().end_array().end_object();
    out.finish();
    CHECK(text == "{\"a\":[1,null,\"\\\"\xef\xbf\xbd\\n\"],\"b\":{},\"c\":0.5,\"d\":true,\"e\":[-1,-1],\"f\":[]}");
}

TEST_CASE("the summary says what was measured and how") {
    const SampleProfile sample;
    const json summary = written(write_json, sample.get());
    CHECK(summary["format"] == "flameprobe-summary");
    CHECK(summary["run"]["command"] == sample.get().run.command);
    CHECK(summary["run"]["complete"] == true);
    CHECK(summary["sampling"]["event_kind"] == "software clock");
    CHECK(summary["sampling"]["frequency_set_hz"] == doctest::Approx(100));
    CHECK(summary["samples"]["taken"] == sample.get().summary.hits);
    CHECK(summary["stack_samples"] == sample.get().summary.hits);
    CHECK(summary["stack_ns"] == sample.get().summary.samples);
    CHECK(summary["cpu_time"]["sampled_share"] == doctest::Approx(1));
    CHECK(summary["threads"][0]["tid"] == 100);
    CHECK(summary["threads"][0]["sampled_share"] == doctest::Approx(0.8));
    CHECK(summary["threads"][1]["sampled_ns"] == 900'000'000);
    CHECK(summary["warnings"] == json::array({"a warning"}));
    std::uint64_t self = 0;
    for (const json& function : summary["functions"]) {
        self += function["self"].get<std::uint64_t>();
        CHECK(function["total"] >= function["self"]);
        if (function["name"] == "recurse(int)") CHECK(function["total"] == 9);  // once a stack, not 3,000 times
    }
    CHECK(self == sample.get().summary.hits);
}

TEST_CASE("the summary of folded text has no facts about a run") {
    const json summary = written(write_json, read_folded("main;a 3\nmain;b_[k] 4\n").profile);
    CHECK_FALSE(summary.contains("run"));
    CHECK(summary["stack_samples"] == 7);
    CHECK(summary["functions"][0]["name"] == "b_[k]");
    CHECK(summary["functions"][0]["self_share"] == doctest::Approx(4.0 / 7));
}

TEST_CASE("functions of the summary have samples, and what these stand for as time") {
    NamedProfile profile = read_folded("main;a 3\nmain;a;a 4\n").profile;
    for (NamedCount& count : profile.counts) {
        count.hits = 1;
        count.weight *= 10;
    }
    profile.has_run = true;
    profile.run.period_ns = 10;
    const json summary = written(write_json, profile);
    CHECK(summary["stack_samples"] == 2);
    CHECK(summary["stack_ns"] == 70);
    const json& a = summary["functions"][0];
    CHECK(a["name"] == "a");
    CHECK(a["self_ns"] == 70);
    CHECK(a["self"] == 2);
    CHECK(a["total"] == 2);
    const json& main = summary["functions"][1];
    CHECK(main["self"] == 0);
    CHECK(main["total"] == 2);
    profile.run.event_kind = "software event";
    CHECK(written(write_json, profile)["stack_events"] == 70);
}

TEST_CASE("speedscope: one profile a thread, weights that add up, one frame a function") {
    const json file = written(write_speedscope, SampleProfile().get());
    REQUIRE(file["profiles"].size() == 2);
    CHECK(file["profiles"][0]["name"] == "demo (100)");
    CHECK(file["activeProfileIndex"] == 1);
    for (const json& profile : file["profiles"]) {
        CHECK(profile["unit"] == "nanoseconds");
        CHECK(profile["samples"].size() == profile["weights"].size());
        CHECK(sum(profile["weights"]) == profile["endValue"].get<std::uint64_t>());
    }
    int trims = 0;
    for (const json& frame : file["shared"]["frames"]) trims += frame["name"] == "trim(char*)";
    CHECK(trims == 1);  // inlined or not
}

TEST_CASE("firefox: every column has its table's length, and every stack its parent before it") {
    const json file = written(write_firefox, SampleProfile().get());
    CHECK(file["meta"]["preprocessedProfileVersion"] == 66);
    std::size_t tables = 0;
    const auto check_table = [&](const json& table) {
        ++tables;
        for (const auto& column : table.items())
            if (column.value().is_array())
                CHECK_MESSAGE(column.value().size() == table["length"].get<std::size_t>(), column.key());
    };
    for (const auto& [name, table] : file["shared"].items())
        if (table.is_object()) check_table(table);
    for (const json& thread : file["threads"]) {
        check_table(thread["samples"]);
        check_table(thread["markers"]);
    }
    CHECK(tables == 11);
    std::size_t index = 0;
    for (const json& offset : file["shared"]["stackTable"]["prefixOffset"]) CHECK(offset.get<std::size_t>() <= index++);
}
