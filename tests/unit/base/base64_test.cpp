#include <doctest/doctest.h>

#include "base/binary_text.hpp"

using flameprobe::base64;

TEST_CASE("base64 of each length modulo three, RFC 4648's own examples") {
    CHECK(base64("").empty());
    CHECK(base64("f") == "Zg==");
    CHECK(base64("fo") == "Zm8=");
    CHECK(base64("foo") == "Zm9v");
    CHECK(base64("foobar") == "Zm9vYmFy");
    CHECK(base64("\xff\xfe\xfd\xfb") == "//79+w==");
}
