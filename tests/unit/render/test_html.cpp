#include <doctest/doctest.h>
#include <zlib.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "count_of.hpp"
#include "demo_profile.hpp"
#include "render/function_totals.hpp"
#include "render/page_parts.hpp"

using namespace flameprobe;
using test::count_of;
using test::ProfileOf;

namespace {

std::string html_of(const NamedProfile& profile, const FlameGraphOptions& options = {}) {
    std::string out;
    const auto done = write_html(profile, options, [&](std::string_view piece) { out += piece; });
    REQUIRE(done);
    return out;
}

std::string from_base64(std::string_view text) {
    static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    unsigned bits = 0, count = 0;
    for (const char c : text) {
        if (c == '=') break;
        bits = bits << 6 | static_cast<unsigned>(digits.find(c));
        count += 6;
        if (count >= 8) out.push_back(static_cast<char>(bits >> (count -= 8) & 0xff));
    }
    return out;
}

std::string inflated(const std::string& html, const std::string& id) {
    const std::string mark = "id=\"" + id + "\" type=\"text/plain\">";
    const auto from = html.find(mark) + mark.size();
    const std::string packed = from_base64(std::string_view{html}.substr(from, html.find("</script>", from) - from));
    std::string text(50'000'000, '\0');
    uLongf size = text.size();
    REQUIRE(uncompress(reinterpret_cast<Bytef*>(text.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                       packed.size()) == Z_OK);
    text.resize(size);
    return text;
}

/// The profile inside the page, decoded as its script does: facts as JSON, and columns of numbers by name.
struct PageContent {
    nlohmann::json facts;
    std::map<std::string, std::vector<std::uint64_t>> columns;

    explicit PageContent(const std::string& html) : facts(nlohmann::json::parse(inflated(html, "profile"))) {
        const std::string bytes = inflated(html, "columns");
        std::size_t at = 0;
        for (const auto& part : facts["parts"]) {
            auto& numbers = columns[part[0]];
            for (const std::size_t end = at + part[1].get<std::size_t>(); at < end;) {
                std::uint64_t value = 0;
                for (int shift = 0;; shift += 7) {
                    const auto byte = static_cast<unsigned char>(bytes.at(at++));
                    value |= std::uint64_t{byte & 127U} << shift;
                    if (byte < 128) break;
                }
                numbers.push_back(value);
            }
        }
        REQUIRE(at == bytes.size());
    }

    /// Self and total of every function, by name: as the page adds them up.
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> totals() {
        std::vector<std::size_t> parent{0}, function{facts["all"]}, path{0};
        for (std::size_t at = 0; at < columns["up"].size(); ++at) {
            path.resize(path.size() - columns["up"][at]);
            parent.push_back(path.back());
            function.push_back(columns["fn"][at]);
            path.push_back(parent.size() - 1);
        }
        std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sums;
        std::size_t box = 0;
        for (std::size_t at = 0; at < columns["box"].size(); ++at) {
            box += columns["box"][at];
            const auto name = [&](std::size_t of) {
                return facts["functions"]["name"][function[of]].get<std::string>();
            };
            sums[name(box)].first += columns["weight"][at];
            std::set<std::string> seen;
            for (std::size_t of = box; of != 0; of = parent[of])
                if (seen.insert(name(of)).second) sums[name(of)].second += columns["weight"][at];
        }
        return sums;
    }
};

}  // namespace

TEST_CASE("the page holds every sample, by box and thread") {
    constexpr std::uint64_t period = 10'101'010;
    PageContent data(html_of(test::demo_profile()));
    std::uint64_t all = 0, worker = 0;
    for (std::size_t at = 0; at < data.columns["weight"].size(); ++at) {
        all += data.columns["weight"][at];
        if (data.columns["thread"][at] == 2) worker += data.columns["weight"][at];
    }
    CHECK(all == 3112 * period);
    CHECK(worker == 726 * period);
    CHECK(data.facts["threads"][2] == nlohmann::json{4713, "writer"});
    CHECK(data.columns["up"].size() + 1 == data.facts["boxes"]);
    CHECK(data.totals().at("Parser::parse(std::string_view)") ==
          std::pair<std::uint64_t, std::uint64_t>{331 * period, 502 * period});
}

TEST_CASE("the same profile gives the same page") {
    CHECK(html_of(test::demo_profile()) == html_of(test::demo_profile()));
}

TEST_CASE("the functions that the answer names are known by their numbers, words of the sentence are none") {
    ProfileOf made;
    made.folded("t:redis;main;call;send 60\nt:redis;main;call 4\nt:redis;main;k:entry_SYSCALL_64;k:epoll_wait 40\n");
    const auto facts = PageContent(html_of(made.profile)).facts;
    const std::string sentence = facts["answer"];
    CHECK(sentence.find("send") != std::string::npos);
    const auto& names = facts["functions"]["name"];
    REQUIRE(facts["named"].contains("send"));
    CHECK(names[facts["named"]["send"][0].get<std::size_t>()] == "send");
    CHECK_FALSE(facts["named"].contains("call"));
}

TEST_CASE("a page says of which files the source is there") {
    ProfileOf made;
    made.folded("t:server;here 9\nt:server;elsewhere 1\nt:server;relative 1\n");
    for (Function& function : made.profile.functions) {
        const std::string name(made.profile.strings.view(function.name));
        function.file = made.profile.strings.intern(name == "here"        ? "/proc/self/exe"
                                                    : name == "elsewhere" ? "/none"
                                                                          : "x.cpp");
    }
    const auto facts = PageContent(html_of(made.profile)).facts;
    REQUIRE(facts["here"].size() == 1);
    CHECK(facts["files"][facts["here"][0].get<std::size_t>()] == "/proc/self/exe");
}

TEST_CASE("the source in a page is the first event's") {
    NamedProfile profile = test::demo_profile();
    profile.others.push_back(test::demo_profile());
    profile.others.front().run.event = "offcpu";
    PageSource source;
    source.functions.emplace_back().function = 1;
    FlameGraphOptions options;
    options.source = &source;
    const std::string html = html_of(profile, options);
    CHECK(nlohmann::json::parse(inflated(html, "profile")).contains("source"));
    CHECK_FALSE(nlohmann::json::parse(inflated(html, "profile-offcpu")).contains("source"));
}

TEST_CASE("no name can end the script, and nothing is loaded from elsewhere") {
    ProfileOf made;
    made.stack({"</script><script>alert(1)</script>", "<!--", "@PROFILE@"}, 3);
    FlameGraphOptions options;
    options.title = "</title></script>@PROFILE@ <b>";
    const std::string html = html_of(made.profile, options);
    std::string plain = html_of(test::demo_profile());
    CHECK(count_of(html, "</script") == count_of(plain, "</script"));
    CHECK(html.find("<script>alert") == std::string::npos);
    CHECK(html.find("@PROFILE@ &lt;b&gt;") != std::string::npos);
    // The licences of libraries name where they are from.
    REQUIRE(plain.find("/*!") != std::string::npos);
    for (std::size_t at = plain.find("/*!"); at != std::string::npos; at = plain.find("/*!", at))
        plain.erase(at, plain.find("*/", at) - at);
    for (const char* outside : {"src=", "href=", "url(", "@import", "http:", "https:", "eval("}) {
        CAPTURE(outside);
        CHECK(plain.find(outside) == std::string::npos);
    }
}

TEST_CASE("readers without JavaScript get the busiest functions") {
    const NamedProfile profile = test::demo_profile();
    const std::string html = html_of(profile);
    const auto from = html.find("<noscript>");
    const std::string summary = html.substr(from, html.find("</noscript>") - from);
    CHECK(summary.find("<td>4.56 s 14.49 %</td><td>4.56 s 14.49 %</td><td>Trie::walk</td>") != std::string::npos);
    CHECK(summary.find("<td>std::map::find</td>") != std::string::npos);
}

TEST_CASE("with many stacks the page's numbers are those of the table") {
    ProfileOf made;
    constexpr int stacks = 3'000;
    for (int i = 0; i < stacks; ++i)
        made.stack({"main", "f" + std::to_string(i % 500), "method_3", "g" + std::to_string(i), "f1"}, 1);
    made.stack({"main", "busy"}, 100'000);
    PageContent data(html_of(made.profile));
    CHECK(data.facts["gathered"] == 0);
    const auto sums = data.totals();
    for (const FunctionTotal& total : function_totals(made.profile).functions) {
        const std::string name{made.profile.strings.view(made.profile.functions[total.function].name)};
        REQUIRE(sums.at(name) == std::pair{total.self, total.total});
    }
    CHECK(sums.at("method_3").second == stacks);
    CHECK(sums.at("f1") == std::pair<std::uint64_t, std::uint64_t>{stacks, stacks});
}

TEST_CASE("functions that differ only in what is not shown are one") {
    ProfileOf made;
    made.stack({"main", "f", "x"}, 2).stack({"main", "g", "x"}, 3);
    NamedProfile& profile = made.profile;
    const auto named = [&](const char* name) {
        for (FunctionId id = 0; id < profile.functions.size(); ++id)
            if (profile.strings.view(profile.functions[id].name) == name) return id;
        return FunctionId{0};
    };
    const FunctionId f = named("f"), g = named("g");
    profile.functions[g] = profile.functions[f];
    profile.functions[g].line = 99;
    PageContent data(html_of(profile));
    CHECK(data.columns["up"].size() == 3);
    CHECK(data.totals().at("f").second == 5);
}

TEST_CASE("beyond the largest number of boxes the narrow ones are gathered") {
    ProfileOf made;
    for (int i = 0; i < 3'000; ++i) made.stack({"main", "g" + std::to_string(i), "h"}, 1);
    made.stack({"main", "busy"}, 100'000);
    PageNumbers numbers;
    numbers.number_of.resize(made.profile.functions.size());
    const auto columns = page_columns(made.profile, numbers, nullptr, 100);
    REQUIRE(columns);
    CHECK(columns->boxes <= 100);
    CHECK(columns->min_width > 0);
    CHECK(!page_columns(made.profile, numbers, nullptr, 2));
}

TEST_CASE("threads whose names differ in a number only are merged, in the stacks on request") {
    ProfileOf made;
    for (int i = 0; i < 32; ++i) made.stack({"t:worker-" + std::to_string(i), "run"}, 1);
    made.stack({"t:main", "run"}, 1);
    for (int i = 0; i < 4; ++i) made.stack({"t:io" + std::to_string(i), "run"}, 1);
    PageContent data(html_of(made.profile));
    CHECK(data.facts["merged"].size() == 36);
    CHECK(data.facts["functions"]["name"][data.facts["merged"][11][1].get<std::size_t>()] == "worker-*");
    merge_threads(made.profile);
    std::set<std::string> names;
    for (std::size_t node = 1; node < made.profile.nodes.size(); ++node)
        if (made.profile.nodes[node].parent == 0) names.emplace(made.profile.name(made.profile.nodes[node].frame));
    CHECK(names == std::set<std::string>{"io*", "main", "worker-*"});
}

TEST_CASE("without samples no page is written") {
    std::string out;
    CHECK(!write_html(NamedProfile{}, {}, [&](std::string_view piece) { out += piece; }));
    CHECK(out.empty());
}
