// OTLP profiles, decoded by the tests' own reader. With the OpenTelemetry Collector: tests/integration/fleet.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "export/output.hpp"
#include "folded_text.hpp"
#include "proto_reader.hpp"
#include "sample_profile.hpp"

using namespace flameprobe;
using json = nlohmann::json;

namespace {

std::string protobuf(const NamedProfile& profile, const ServerOptions& options = {}) {
    std::string bytes;
    write_otlp(profile, options, [&](std::string_view piece) { bytes += piece; });
    return bytes;
}

json as_json(const NamedProfile& profile, const ServerOptions& options = {}) {
    std::string text;
    write_otlp_json(profile, options, [&](std::string_view piece) { text += piece; });
    return json::parse(text);
}

struct Otlp {
    explicit Otlp(const std::string& bytes)
        : data(bytes),
          dictionary(data.message(2)),
          resource(data.message(1).message(1)),
          profile(data.message(1).message(2).message(2)) {}

    std::string text(std::uint64_t index) const { return std::string(dictionary.all(5).at(index)); }
    /// Names of a sample's functions, root first, inlined ones after what they are inlined into.
    std::string names(const ProtoReader& sample) const {
        std::string names;
        const auto locations = dictionary.messages(7).at(sample.number(1)).packed(1);
        for (auto location = locations.rbegin(); location != locations.rend(); ++location) {
            const auto lines = dictionary.messages(2).at(*location).messages(3);
            for (auto line = lines.rbegin(); line != lines.rend(); ++line)
                names += text(dictionary.messages(3).at(line->number(1)).number(1)) + ';';
        }
        return names;
    }
    std::map<std::string, std::string> attributes(const ProtoReader& sample) const {
        std::map<std::string, std::string> found;
        for (const auto index : sample.packed(2)) {
            const ProtoReader entry = dictionary.messages(6).at(index);
            const ProtoReader value = entry.message(2);
            found[text(entry.number(1))] =
                value.bytes(1).empty() ? std::to_string(value.number(3)) : std::string(value.bytes(1));
        }
        return found;
    }

    ProtoReader data, dictionary, resource, profile;
};

}  // namespace

TEST_CASE("OTLP: values, times, stacks and labels are the profile's") {
    const SampleProfile sample;
    const std::string bytes =
        protobuf(sample.get(), {ThreadLabels::exact, {{"service_name", "shop"}, {"version", "7"}}});
    const Otlp otlp(bytes);
    CHECK(otlp.profile.number(3) == 1'700'000'000'000'000'000);
    CHECK(otlp.profile.number(4) == 5'000'000'000);
    CHECK(otlp.profile.number(6) == SampleProfile::period_ns);
    CHECK(otlp.text(otlp.profile.message(1).number(1)) == "cpu");
    CHECK(otlp.text(otlp.profile.message(1).number(2)) == "nanoseconds");
    CHECK(otlp.profile.bytes(7).size() == 16);
    std::uint64_t sum = 0;
    for (const ProtoReader& entry : otlp.profile.messages(2)) sum += entry.packed(4).at(0);
    CHECK(sum == sample.get().summary.samples);

    const auto samples = otlp.profile.messages(2);
    CHECK(otlp.names(samples.at(2)) ==
          "main;ns::parse<int, char>(char const*, unsigned int);trim(char*);is_space(char);");
    CHECK(otlp.attributes(samples.at(8)) == std::map<std::string, std::string>{{"scope", "checkout > payment; step 2"},
                                                                               {"tenant", "acme"},
                                                                               {"thread.name", "worker 3"},
                                                                               {"thread.id", "101"}});
    std::map<std::string, std::string> resource;
    for (const ProtoReader& pair : otlp.resource.messages(1))
        resource[std::string(pair.bytes(1))] = std::string(pair.message(2).bytes(1));
    CHECK(resource["service.name"] == "shop");
    CHECK(resource["version"] == "7");
    CHECK(resource["host.name"] == "host 6.1");
}

TEST_CASE("OTLP: entry 0 of every table is empty, and every other stack has a sample") {
    const std::string bytes = protobuf(SampleProfile().get());
    const Otlp otlp(bytes);
    for (const unsigned table : {1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
        REQUIRE_FALSE(otlp.dictionary.all(table).empty());
        CHECK(otlp.dictionary.all(table).front().empty());
    }
    std::set<std::uint64_t> used;
    for (const ProtoReader& entry : otlp.profile.messages(2)) used.insert(entry.number(1));
    CHECK(used.size() == otlp.dictionary.all(7).size() - 1);
    CHECK_FALSE(used.contains(0));
}

TEST_CASE("OTLP: the build id is an attribute of the mapping") {
    const std::string bytes = protobuf(SampleProfile().get());
    const Otlp otlp(bytes);
    const ProtoReader mapping = otlp.dictionary.messages(1).at(1);
    CHECK(otlp.text(mapping.number(4)) == "/usr/bin/demo");
    const ProtoReader attribute = otlp.dictionary.messages(6).at(mapping.packed(5).at(0));
    CHECK(otlp.text(attribute.number(1)) == "process.executable.build_id.gnu");
    CHECK(attribute.message(2).bytes(1) == "ab00cd");
}

TEST_CASE("OTLP: JSON has the values of protobuf") {
    const SampleProfile sample;
    const std::string bytes = protobuf(sample.get());
    const Otlp otlp(bytes);
    const json file = as_json(sample.get());
    const json& profile = file["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0];
    CHECK(profile["timeUnixNano"] == "1700000000000000000");
    CHECK(profile["period"] == std::to_string(SampleProfile::period_ns));
    const auto samples = otlp.profile.messages(2);
    REQUIRE(profile["samples"].size() == samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
        CHECK(profile["samples"][i]["stackIndex"] == samples[i].number(1));
        CHECK(profile["samples"][i]["values"][0] == std::to_string(samples[i].packed(4).at(0)));
    }
    const json& dictionary = file["dictionary"];
    const char* names[] = {"mappingTable", "locationTable",  "functionTable", "linkTable",
                           "stringTable",  "attributeTable", "stackTable"};
    for (unsigned table = 1; table <= 7; ++table)
        CHECK(dictionary[names[table - 1]].size() == otlp.dictionary.all(table).size());
    for (std::size_t i = 0; i < dictionary["stringTable"].size(); ++i)
        CHECK(dictionary["stringTable"][i] == otlp.text(i));
}

TEST_CASE("OTLP: the unit of folded text is samples") {
    const NamedProfile profile = read_folded("main;a 3\nmain 1\n").profile;
    const std::string bytes = protobuf(profile);
    const Otlp otlp(bytes);
    CHECK(otlp.text(otlp.profile.message(1).number(1)) == "samples");
    for (const ProtoReader& sample : otlp.profile.messages(2))
        CHECK(sample.packed(4).at(0) == (otlp.names(sample) == "main;a;" ? 3 : 1));
    CHECK(otlp.profile.messages(2).size() == 2);
}
