// Any bytes as folded text, in pieces of any size. What is read is written in a way that flamegraph.pl's rule cannot
// misread, and reads back as the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "export/folded_reader.hpp"
#include "export/output.hpp"

using namespace flameprobe;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

bool read(NamedProfile& profile, std::string_view text, std::size_t piece) {
    FoldedReader reader(profile, "fuzz");
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) reader.feed(text.substr(0, piece));
    return static_cast<bool>(reader.finish());
}

std::string folded(const NamedProfile& profile) {
    std::string text;
    write_folded(profile, [&text](std::string_view piece) { text += piece; });
    return text;
}

std::uint64_t samples(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) all += count.weight;
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    NamedProfile whole, pieces;
    const bool good = read(whole, text, text.size());
    require(good == read(pieces, text, std::size_t{1} + data[0]));
    const std::string written = folded(whole);
    require(written == folded(pieces));
    if (written.empty()) return 0;

    for (std::string_view rest = written; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        require(parse_folded_line(line, false).count > 0);
        require(!has_two_counts(line));
        rest.remove_prefix(line.size() + 1);
    }
    NamedProfile again;
    require(read(again, written, written.size()));
    require(samples(again) == samples(whole));
    require(folded(again) == written);
    return 0;
}
