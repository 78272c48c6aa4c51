#include <doctest/doctest.h>

#include <string>

#include "base/printed.hpp"

using flameprobe::first_code_point;

namespace {

struct Case {
    std::string_view bytes;
    char32_t value;
    std::size_t size;
};

}  // namespace

TEST_CASE("utf8: well-formed sequences, at the ends of their ranges (Unicode 15, table 3-7)") {
    const Case cases[] = {
        {"a", U'a', 1},
        {"\x7f", 0x7f, 1},
        {"\xc2\x80", 0x80, 2},
        {"\xdf\xbf", 0x7ff, 2},
        {"\xe0\xa0\x80", 0x800, 3},
        {"\xed\x9f\xbf", 0xd7ff, 3},
        {"\xee\x80\x80", 0xe000, 3},
        {"\xef\xbf\xbf", 0xffff, 3},
        {"\xf0\x90\x80\x80", 0x10000, 4},
        {"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
    };
    for (const auto& [bytes, value, size] : cases) {
        const auto point = first_code_point(std::string{bytes} + "rest");
        CHECK(point.value == value);
        CHECK(point.size == size);
    }
}

TEST_CASE("utf8: what is not well-formed is not valid") {
    const std::string_view cases[] = {
        "\x80",              // a continuation byte alone
        "\xc0\xaf",          // overlong
        "\xe0\x9f\xbf",      // overlong
        "\xf0\x8f\xbf\xbf",  // overlong
        "\xed\xa0\x80",      // a surrogate
        "\xf4\x90\x80\x80",  // over U+10FFFF
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc3",          // cut off
        "\xe2\x82",      // cut off
        "\xf0\x9f\x98",  // cut off
        "\xe2\x28\xa1",  // no continuation byte in the middle
    };
    for (const std::string_view bytes : cases) CHECK_FALSE(first_code_point(bytes).is_valid);
}
