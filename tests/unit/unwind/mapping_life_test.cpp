// Libraries are loaded and unloaded: rules must not outlive them.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "other_unwinders.hpp"
#include "unwind/unwinder.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

/// A copy of the plugin under a name of its own, loaded.
class Plugin {
public:
    Plugin() : path_(std::filesystem::temp_directory_path() / ("plugin-" + std::to_string(::getpid()) + ".so")) {
        std::filesystem::copy_file(PLUGIN, path_, std::filesystem::copy_options::overwrite_existing);
        library_ = ::dlopen(path_.c_str(), RTLD_NOW);
        REQUIRE(library_ != nullptr);
    }
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;
    ~Plugin() {
        unload();
        std::filesystem::remove(path_);
    }
    void unload() {
        if (library_ != nullptr) ::dlclose(std::exchange(library_, nullptr));
    }
    const std::string& path() const { return path_; }
    OtherWalks call() const {
        OtherWalks others;
        const auto function = reinterpret_cast<int (*)(void (*)(void*), void*)>(::dlsym(library_, "plugin_call"));
        function([](void* out) { walk_with_others(*static_cast<OtherWalks*>(out)); }, &others);
        return others;
    }

private:
    std::string path_;
    void* library_ = nullptr;
};

struct Walked {
    WalkEnd end;
    std::size_t frames, in_plugin;
};
Walked walk(Unwinder& unwinder, const CodeMap& map, const OtherWalks& others, const std::string& path) {
    Walk out;
    const Registers& registers = others.snapshot.registers;
    unwinder.walk(registers, {registers.sp(), others.snapshot.stack}, nullptr, out);
    const auto in_plugin = std::count_if(out.frames.begin(), out.frames.end(), [&](const CodeFrame& frame) {
        const CodeRegion* const region = map.find(frame.address);
        return region != nullptr && region->path == path;
    });
    return {out.end, out.frames.size(), static_cast<std::size_t>(in_plugin)};
}

}  // namespace

TEST_CASE("a loaded library's file may be deleted or replaced") {
    Plugin plugin;
    CodeMap map;
    add_own_mappings(map);
    const OtherWalks others = plugin.call();
    SUBCASE("untouched") {}
    SUBCASE("deleted") { std::filesystem::remove(plugin.path()); }
    SUBCASE("replaced by a text") {
        std::filesystem::remove(plugin.path());
        std::ofstream(plugin.path()) << "no library\n";
    }
    SUBCASE("replaced by another program") {
        std::filesystem::remove(plugin.path());
        std::filesystem::copy_file("/proc/self/exe", plugin.path());
    }
    const auto result = walk(*make_dwarf_unwinder(map), map, others, plugin.path());
    CHECK(result.end == WalkEnd::root);
    CHECK(result.frames == others.libunwind.size());
    CHECK(result.in_plugin == 1);
}

TEST_CASE("rules are forgotten with their mapping") {
    Plugin plugin;
    CodeMap map;
    add_own_mappings(map);
    const OtherWalks others = plugin.call();
    const auto unwinder = make_dwarf_unwinder(map);
    CHECK(walk(*unwinder, map, others, plugin.path()).end == WalkEnd::root);
    const std::uint64_t misses = unwinder->statistics().rule_misses;
    CHECK(walk(*unwinder, map, others, plugin.path()).end == WalkEnd::root);
    CHECK(unwinder->statistics().rule_misses == misses);

    const auto regions = map.regions();
    const auto old =
        std::find_if(regions.begin(), regions.end(), [&](const auto& region) { return region->path == plugin.path(); });
    REQUIRE(old != regions.end());
    plugin.unload();
    CodeRegion other = **old;
    other.kind = RegionKind::anonymous;  // code without tables is mapped there now
    other.path.clear();
    map.add(other);
    CHECK(walk(*unwinder, map, others, plugin.path()).end != WalkEnd::root);

    // All other rules are still there: only the one address in the region is looked up again. Not counted in the walk
    // before: in code without tables that looks at the words of the frame too, and AddressSanitizer puts the address of
    // a frame's description there, which is the first byte behind the plugin's code.
    const std::uint64_t without = unwinder->statistics().rule_misses;
    CHECK(without > misses);
    map.add(**old);
    CHECK(walk(*unwinder, map, others, plugin.path()).end == WalkEnd::root);
    CHECK(unwinder->statistics().rule_misses == without + 1);
}

TEST_CASE("a library that is unloaded and deleted ends the walk without a crash") {
    Plugin plugin;
    CodeMap map;
    add_own_mappings(map);
    const OtherWalks others = plugin.call();
    plugin.unload();
    std::filesystem::remove(plugin.path());
    const auto result = walk(*make_dwarf_unwinder(map), map, others, plugin.path());
    CHECK(result.end != WalkEnd::root);
    CHECK(result.in_plugin == 1);
}
