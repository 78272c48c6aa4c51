#include "render/html_data.hpp"

#include <zlib.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "render/page_columns.hpp"
#include "render/page_functions.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

using Json = nlohmann::ordered_json;

std::string base64(const std::vector<unsigned char>& bytes) {
    static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const auto byte = [&](std::size_t i) { return i < bytes.size() ? bytes[i] : 0U; };
        const unsigned bits = byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2);
        out += digits[bits >> 18];
        out += digits[bits >> 12 & 63];
        out += at + 1 < bytes.size() ? digits[bits >> 6 & 63] : '=';
        out += at + 2 < bytes.size() ? digits[bits & 63] : '=';
    }
    return out;
}

Result<std::string> pack(const std::string& text) {
    uLongf size = compressBound(text.size());
    std::vector<unsigned char> packed(size);
    if (compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), 6) != Z_OK) {
        return Error{"the page's data could not be compressed: zlib is out of memory"};
    }
    packed.resize(size);
    return base64(packed);
}

}  // namespace

Result<PageData> page_data(const NamedProfile& profile, const Palette& palette, const FlameGraphOptions& options) {
    Json facts = {{"reverse", options.reverse}, {"icicle", options.icicle}, {"byModule", palette.by_module()}};
    const PageFunctions functions = add_functions(profile, palette, facts);
    auto columns = page_columns(profile, functions.numbers);
    if (!columns) return columns.error();
    facts["shades"] = Json::array();
    for (const NamedShade& shade : palette.classes())
        facts["shades"].push_back({shade.name, shade.shade.light, shade.shade.dark});
    facts["threads"] = Json::array();
    for (const Thread& thread : profile.threads) facts["threads"].push_back({thread.tid, clean_text(thread.name)});
    facts["period"] = profile.has_run ? profile.run.period_ns : 0;
    facts["bin"] = profile.bin_ns;
    facts["boxes"] = columns->boxes;
    facts["depth"] = columns->depth;
    facts["gathered"] = columns->min_width;
    facts["parts"] = columns->parts;
    auto packed_facts = pack(facts.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!packed_facts) return packed_facts.error();
    auto packed_columns = pack(columns->bytes);
    if (!packed_columns) return packed_columns.error();
    return PageData{std::move(*packed_facts), std::move(*packed_columns), columns->min_width};
}

}  // namespace flameprobe
