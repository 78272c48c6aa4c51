#include <doctest/doctest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "demo_profile.hpp"
#include "render/html_data.hpp"

using namespace flameprobe;
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

/// The profile inside the page, as a browser would read it.
nlohmann::json data_of(const std::string& html) {
    const std::string_view mark = "type=\"text/plain\">";
    const auto from = html.find(mark) + mark.size();
    const std::string packed = from_base64(std::string_view{html}.substr(from, html.find("</script>", from) - from));
    std::string text(50'000'000, '\0');
    uLongf size = text.size();
    REQUIRE(uncompress(reinterpret_cast<Bytef*>(text.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                       packed.size()) == Z_OK);
    text.resize(size);
    return nlohmann::json::parse(text);
}

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("the page holds every sample, by box and thread") {
    const NamedProfile profile = test::demo_profile();
    const auto data = data_of(html_of(profile));
    std::uint64_t all = 0, worker = 0;
    for (std::size_t at = 0; at < data["counts"]["weight"].size(); ++at) {
        const std::uint64_t weight = data["counts"]["weight"][at];
        all += weight;
        if (data["counts"]["thread"][at] == 2) worker += weight;
    }
    CHECK(all == 3112);
    CHECK(worker == 726);
    CHECK(data["threads"][2] == nlohmann::json{4713, "worker-2"});
    CHECK(data["boxes"]["up"].size() == data["boxes"]["function"].size());
    const auto& names = data["functions"]["name"];
    CHECK(std::find(names.begin(), names.end(), "Parser::parse(std::string_view)") != names.end());
}

TEST_CASE("the same profile gives the same page") {
    CHECK(html_of(test::demo_profile()) == html_of(test::demo_profile()));
}

TEST_CASE("no name can end the script, and nothing is loaded from elsewhere") {
    ProfileOf made;
    made.stack({"</script><script>alert(1)</script>", "<!--", "@DATA@"}, 3);
    FlameGraphOptions options;
    options.title = "</title></script>@DATA@ <b>";
    const std::string html = html_of(made.profile, options);
    const std::string plain = html_of(test::demo_profile());
    CHECK(count_of(html, "</script") == count_of(plain, "</script"));
    CHECK(html.find("<script>alert") == std::string::npos);
    CHECK(html.find("@DATA@ &lt;b&gt;") != std::string::npos);
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
    CHECK(summary.find("<td>14.49 %</td><td>14.49 %</td><td>Trie::walk(Node const*)</td>") != std::string::npos);
    CHECK(summary.find("std::less&lt;std::string&gt;") != std::string::npos);
}

TEST_CASE("a page with too many boxes gathers the narrow ones and says so") {
    ProfileOf made;
    for (int i = 0; i < 210'000; ++i)
        made.stack({"main", "f" + std::to_string(i % 500), "g" + std::to_string(i), "h"}, 1);
    made.stack({"main", "busy"}, 1'000'000);
    const std::string html = html_of(made.profile);
    CHECK(html.find("too many for a page") != std::string::npos);
    const auto data = data_of(html);
    CHECK(data["boxes"]["up"].size() <= 400'000);
    std::uint64_t all = 0;
    for (const auto& weight : data["counts"]["weight"]) all += weight.get<std::uint64_t>();
    CHECK(all == 1'210'000);
}

TEST_CASE("no samples, no page") {
    std::string out;
    CHECK(!write_html(NamedProfile{}, {}, [&](std::string_view piece) { out += piece; }));
    CHECK(out.empty());
}
