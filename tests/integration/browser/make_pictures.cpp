// Writes the pictures that the browser tests open: make_pictures DIRECTORY.
#include <cstdio>
#include <fstream>
#include <string>

#include "demo_profile.hpp"
#include "render/flame_graph.hpp"

using namespace flameprobe;

namespace {

using Writer = Result<void> (*)(const NamedProfile&, const FlameGraphOptions&, const ByteSink&);

bool make(const std::string& path, Writer writer, const NamedProfile& profile, const FlameGraphOptions& options) {
    std::ofstream file(path, std::ios::binary);
    const auto done = writer(profile, options, [&](std::string_view piece) {
        file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    });
    if (!done) std::fprintf(stderr, "%s: %s\n", path.c_str(), done.error().message.c_str());
    return done && file.flush();
}

NamedProfile hostile_profile() {
    test::ProfileOf made;
    for (const std::string& name :
         {std::string{"</script><script>window.broken = 1</script>"}, std::string{"]]>"}, std::string{"\xff\x01"},
          std::string{"\" onload=\"window.broken = 1"}, std::string(100'000, 'x'), std::string{"${window.broken = 1}"},
          std::string{"constructor"}, std::string{"__proto__"}}) {
        made.stack({"main", name, "leaf of " + name}, 1);
    }
    return std::move(made.profile);
}

/// Many functions, and stacks thousands of frames deep.
NamedProfile large_profile() {
    test::ProfileOf made;
    for (int i = 0; i < 25'000; ++i) made.stack({"main", "function" + std::to_string(i)}, 1);
    std::vector<std::string> deep{"main"};
    for (int i = 0; i < 6000; ++i) deep.push_back("recursion" + std::to_string(i % 3));
    made.stack(deep, 30'000);
    return std::move(made.profile);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const std::string directory = std::string{argv[1]} + "/";
    const NamedProfile demo = test::demo_profile();
    bool good = true;
    for (const char* colors : {"hot", "cold", "mono", "module"}) {
        FlameGraphOptions options;
        options.colors = colors;
        good = make(directory + colors + ".svg", write_svg, demo, options) && good;
    }
    FlameGraphOptions icicle;
    icicle.icicle = true;
    good = make(directory + "icicle.svg", write_svg, demo, icicle) && good;
    icicle.reverse = true;
    good = make(directory + "reverse.svg", write_svg, demo, icicle) && good;
    good = make(directory + "hostile.svg", write_svg, hostile_profile(), {}) && good;
    good = make(directory + "demo.html", write_html, demo, {}) && good;
    good = make(directory + "hostile.html", write_html, hostile_profile(), {}) && good;
    good = make(directory + "large.html", write_html, large_profile(), {}) && good;
    good = make(directory + "large.svg", write_svg, large_profile(), {}) && good;
    return good ? 0 : 1;
}
