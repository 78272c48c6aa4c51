#include "render/palette.hpp"

#include <array>
#include <span>

#include "render/text.hpp"

namespace flameprobe {

namespace {

// Chosen in OKLCH: equal lightness within a ramp but for steps of a few percent, which keep neighbours apart for every
// eye; the kinds differ in hue, and in lightness where hues are close for the colour-blind.
constexpr std::array<Shade, 8> warm{{{"#fda295", "#893e36"},
                                     {"#ffb19c", "#924834"},
                                     {"#f59f7a", "#813c1c"},
                                     {"#fead7c", "#8a481c"},
                                     {"#eba267", "#783f00"},
                                     {"#f8b771", "#865106"},
                                     {"#e6af62", "#734c05"},
                                     {"#e6ba65", "#755403"}}};
constexpr std::array<Shade, 4> straw{
    {{"#e8d393", "#685a2d"}, {"#e9e19f", "#6b6537"}, {"#cfd493", "#56592c"}, {"#cfe3a4", "#59653a"}}};
constexpr std::array<Shade, 4> blue{
    {{"#86c3eb", "#165b81"}, {"#98caf9", "#30618e"}, {"#93b6eb", "#2f5081"}, {"#a8bef7", "#44578c"}}};
constexpr std::array<Shade, 4> violet{
    {{"#c6b1f0", "#614a87"}, {"#d9b8f4", "#714f8b"}, {"#d0a5dd", "#6a3f75"}, {"#e3aee0", "#7a4678"}}};
constexpr std::array<Shade, 4> teal{
    {{"#95d3bf", "#2b5d4f"}, {"#9bddcf", "#30665c"}, {"#88cdc6", "#1d5853"}, {"#92d8d8", "#276162"}}};
constexpr std::array<Shade, 8> cold{{{"#7ad0c5", "#04665e"},
                                     {"#81d9db", "#046e71"},
                                     {"#72c6d6", "#045d6a"},
                                     {"#83cfeb", "#0e667f"},
                                     {"#7ebde4", "#125678"},
                                     {"#9bcbfb", "#36628d"},
                                     {"#9dbbf2", "#3b5484"},
                                     {"#b0bdf8", "#4d568a"}}};
constexpr std::array<Shade, 4> mint{
    {{"#bce2cc", "#42604f"}, {"#c3edda", "#47695b"}, {"#b0dcce", "#375b50"}, {"#b9e8dd", "#3f655d"}}};
constexpr std::array<Shade, 4> amber{
    {{"#f1a685", "#834527"}, {"#f8b286", "#8a5027"}, {"#e3a670", "#77440d"}, {"#e9b476", "#7e5112"}}};
constexpr std::array<Shade, 8> grey{{{"#c6c4c0", "#54524f"},
                                     {"#d0cdc9", "#5d5a57"},
                                     {"#c0bdb9", "#4f4d49"},
                                     {"#cbc8c5", "#585653"},
                                     {"#bcbab6", "#4c4a47"},
                                     {"#ceccc8", "#5b5956"},
                                     {"#c3c0bd", "#514f4c"},
                                     {"#c9c7c3", "#575552"}}};
constexpr std::array<Shade, 4> pale{
    {{"#e0deda", "#44423f"}, {"#eae7e3", "#4c4a47"}, {"#d9d7d3", "#3f3d3a"}, {"#e5e2de", "#484643"}}};
constexpr std::array<Shade, 4> slate{
    {{"#9badc1", "#495a6b"}, {"#a4b6ca", "#526274"}, {"#95a7ba", "#445465"}, {"#9fb2c5", "#4d5e70"}}};
constexpr std::array<Shade, 2> note{{{"#cdcac5", "#4f4d48"}, {"#d7d4ce", "#585550"}}};
constexpr std::array<Shade, 12> wheel{{{"#fba99b", "#854137"},
                                       {"#fbbb87", "#875221"},
                                       {"#d3b86d", "#665001"},
                                       {"#bdd085", "#56641e"},
                                       {"#88ca95", "#215e32"},
                                       {"#79dfcb", "#056f61"},
                                       {"#66cfe1", "#04606d"},
                                       {"#86cdff", "#1b618a"},
                                       {"#a9beff", "#43548d"},
                                       {"#d3bdfe", "#69538e"},
                                       {"#dfa3d9", "#6f3d6b"},
                                       {"#fcaac3", "#86435a"}}};
constexpr Shade plain{"#e6e3de", "#3a3835"};

}  // namespace

struct Palette::Ramps {
    std::string_view name;
    std::span<const Shade> user, inlined, kernel, scope, thread;
};

namespace {

constexpr std::string_view accepted = "hot, cold, mono, module";

}  // namespace

Result<Palette> Palette::by_name(std::string_view name) {
    static constexpr Ramps hot{"hot", warm, straw, blue, violet, teal};
    static constexpr Ramps cool{"cold", cold, mint, amber, violet, pale};
    static constexpr Ramps mono{"mono", grey, pale, slate, slate, slate};
    static constexpr Ramps module{"module", warm, straw, grey, violet, pale};
    for (const Ramps* ramps : {&hot, &cool, &mono, &module}) {
        if (ramps->name == name) return Palette(*ramps, ramps == &module);
    }
    return Error{"no palette is called '" + clean_text(name) + "': use one of " + std::string{accepted}};
}

std::string Palette::class_of(const NamedProfile& profile, FunctionId id) const {
    const Function& function = profile.functions[id];
    const std::uint64_t hash = stable_hash(profile.strings.view(function.name));
    const auto shade = [&](char letter, std::size_t count) {
        return letter + std::to_string((hash ^ hash >> 29) % count);
    };
    switch (function.kind) {
        case FrameKind::kernel:
            return shade('k', ramps_->kernel.size());
        case FrameKind::scope:
            return shade('s', ramps_->scope.size());
        case FrameKind::thread:
            return shade('t', ramps_->thread.size());
        case FrameKind::note:
            return shade('n', note.size());
        default:
            break;
    }
    if (by_module_) {
        if (function.module == 0) return "n0";
        const std::string_view path = profile.strings.view(function.module);
        return "m" + std::to_string(stable_hash(path.substr(path.rfind('/') + 1)) % wheel.size());
    }
    return function.kind == FrameKind::inlined ? shade('i', ramps_->inlined.size()) : shade('u', ramps_->user.size());
}

std::string Palette::class_of(const NamedProfile& profile, const Box& box) const {
    return box.kind == BoxKind::function ? class_of(profile, box.function) : "g0";
}

std::vector<NamedShade> Palette::classes() const {
    std::vector<NamedShade> all;
    const auto add = [&](char letter, std::span<const Shade> ramp) {
        for (std::size_t at = 0; at < ramp.size(); ++at) all.push_back({letter + std::to_string(at), ramp[at]});
    };
    if (by_module_) {
        add('m', wheel);
    } else {
        add('u', ramps_->user);
        add('i', ramps_->inlined);
    }
    add('k', ramps_->kernel);
    add('s', ramps_->scope);
    add('t', ramps_->thread);
    add('n', note);
    add('g', {&plain, 1});
    return all;
}

}  // namespace flameprobe
