#include <doctest/doctest.h>

#include "render/text.hpp"

using namespace flameprobe;

TEST_CASE("clean text is valid UTF-8 that XML can hold") {
    const std::string bad = "\xEF\xBF\xBD";
    CHECK(clean_text("plain") == "plain");
    CHECK(clean_text("größer 漢字 🔥") == "größer 漢字 🔥");
    CHECK(clean_text("a\tb\nc\rd") == "a b c d");
    CHECK(clean_text(std::string_view{"a\0b", 3}) == "a" + bad + "b");
    CHECK(clean_text("\x01\x1b[31m\x7f") == bad + bad + "[31m" + bad);
    CHECK(clean_text("\xC2\x85") == bad);                            // a C1 control
    CHECK(clean_text("\xff") == bad);                                // never in UTF-8
    CHECK(clean_text("\xC0\xAF") == bad + bad);                      // overlong
    CHECK(clean_text("\xED\xA0\x80") == bad + bad + bad);            // a surrogate
    CHECK(clean_text("\xF4\x90\x80\x80") == bad + bad + bad + bad);  // above U+10FFFF
    CHECK(clean_text("\xE2\x82") == bad + bad);                      // cut off
    CHECK(clean_text("\xEF\xBF\xBE") == bad);                        // U+FFFE
    CHECK(clean_text("a\xE2\x80\xAE"
                     "b") == "a" + bad + "b");  // right-to-left override
}

TEST_CASE("characters with a meaning in XML are escaped") {
    std::string out;
    append_xml(out, R"(<a href="x">'&amp;]]></script>)");
    CHECK(out == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;]]&gt;&lt;/script&gt;");
}

TEST_CASE("columns count wide characters twice and combining marks not at all") {
    CHECK(columns("abc") == 3);
    CHECK(columns("漢字") == 4);
    CHECK(columns("e\xCC\x81") == 1);
}

TEST_CASE("labels are cut on code points") {
    CHECK(fit_columns("main", 4) == "main");
    CHECK(fit_columns("mainloop", 5) == "main…");
    CHECK(fit_columns("mainloop", 2).empty());
    CHECK(fit_columns("漢字漢字", 6) == "漢字…");
    CHECK(fit_columns("ööööö", 4).empty());
    CHECK(fit_columns("öööööö", 5) == "öööö…");
    for (std::size_t room = 0; room < 12; ++room) {
        const std::string cut = fit_columns("a漢ö🔥bcdefgh", room);
        CHECK(columns(cut) <= room);
        CHECK(clean_text(cut) == cut);
    }
}

TEST_CASE("long text keeps its beginning and its end") {
    const std::string name = "begin" + std::string(100'000, 'x') + "end";
    const std::string cut = shorten(name, 100);
    CHECK(cut.size() < 120);
    CHECK(cut.starts_with("begin"));
    CHECK(cut.ends_with("end"));
    std::string wide;
    for (int i = 0; i < 100; ++i) wide += "漢";
    for (std::size_t most = 10; most < 20; ++most) CHECK(clean_text(shorten(wide, most)) == shorten(wide, most));
}

TEST_CASE("the hash is FNV-1a") {
    CHECK(stable_hash("") == 0xcbf29ce484222325ULL);
    CHECK(stable_hash("a") == 0xaf63dc4c8601ec8cULL);
}
