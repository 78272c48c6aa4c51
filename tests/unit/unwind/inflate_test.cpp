// What zlib makes must become what it was; what is damaged must be refused, or be something else of the same size.
#include "unwind/inflate.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <vector>

using namespace flameprobe;

namespace {

std::string pack(const std::string& text, int level, int strategy) {
    z_stream stream{};
    REQUIRE(::deflateInit2(&stream, level, Z_DEFLATED, 15, 8, strategy) == Z_OK);
    std::string packed(::deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
    packed.resize(stream.total_out);
    ::deflateEnd(&stream);
    return packed;
}

bool unpack(const std::string& packed, std::string& out) {
    // Of the exact size, so that the sanitizer sees each byte too many.
    const std::vector<char> in(packed.begin(), packed.end());
    return inflate(std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)));
}

/// Random, or of few letters, or with far repeats.
std::string some_text(unsigned seed, std::size_t size) {
    std::minstd_rand random(seed);
    std::string text;
    while (text.size() < size) {
        if (seed % 3 == 2 && text.size() > 300 && random() % 3 == 0) {
            text += text.substr(random() % (text.size() - 258), random() % 258 + 1);
        } else {
            text.push_back(static_cast<char>(seed % 3 == 0 ? random() : 'a' + random() % 4));
        }
    }
    text.resize(size);
    return text;
}

}  // namespace

TEST_CASE("what zlib has packed is unpacked, by each level and strategy") {
    for (const std::size_t size : {0, 1, 2, 257, 5000, 300000})
        for (unsigned seed = 0; seed < 3; ++seed) {
            const std::string text = some_text(seed, size);
            for (const int level : {0, 1, 6, 9})
                for (const int strategy : {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED}) {
                    std::string out(size, '?');
                    CAPTURE(size);
                    CAPTURE(level);
                    CAPTURE(strategy);
                    REQUIRE(unpack(pack(text, level, strategy), out));
                    REQUIRE(out == text);
                }
        }
}

TEST_CASE("another size is refused, and half of it") {
    const std::string text = some_text(2, 5000), packed = pack(text, 6, Z_DEFAULT_STRATEGY);
    std::string less(4999, '?'), more(5001, '?'), right(5000, '?');
    CHECK_FALSE(unpack(packed, less));
    CHECK_FALSE(unpack(packed, more));
    for (std::size_t size = 0; size + 4 < packed.size(); size += 7) CHECK_FALSE(unpack(packed.substr(0, size), right));
}

TEST_CASE("damaged bytes do no harm") {
    std::minstd_rand random(1);
    for (int round = 0; round < 3000; ++round) {
        const int strategy = round % 2 == 0 ? Z_DEFAULT_STRATEGY : Z_FIXED;
        std::string packed = pack(some_text(static_cast<unsigned>(round), 600), 6, strategy), out(600, '?');
        for (int changes = 0; changes < 3; ++changes)
            packed[random() % packed.size()] ^= static_cast<char>(1 << random() % 8);
        static_cast<void>(unpack(packed, out));
    }
}

TEST_CASE("what is not zlib's is refused") {
    std::string out(10, '?');
    CHECK_FALSE(unpack("", out));
    CHECK_FALSE(unpack("x", out));
    CHECK_FALSE(unpack(std::string("\x1f\x8b\x08\0\0\0\0\0", 8), out));  // gzip
    CHECK_FALSE(unpack(std::string("\x78\x9d\0\0", 4), out));            // a header whose check fails
    CHECK_FALSE(unpack(std::string("\x78\x20\0\0\0\0\0", 7), out));      // with a dictionary
    CHECK_FALSE(unpack(std::string("\x78\x9c\x07", 3), out));            // a kind of block that there is not
}
