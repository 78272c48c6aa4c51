// Writes the pictures that the browser tests open: make_pictures DIRECTORY [--stacks N].
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

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

/// Ten steps of time, each stack in one of them.
NamedProfile timed_profile() {
    NamedProfile profile = test::demo_profile();
    profile.bin_ns = profile.summary.duration_ns / 10;
    for (std::uint32_t at = 0; at < profile.counts.size(); ++at)
        profile.times.push_back({at, at % 10, profile.counts[at].weight, profile.counts[at].hits});
    return profile;
}

/// The CPU time of timed_profile(), and the waiting time of the same run: half a second of the server's, in a step in
/// which it does not run.
NamedProfile waiting_profile() {
    NamedProfile profile = timed_profile();
    NamedProfile waits = test::demo_profile();
    waits.run.event = event_name::offcpu;
    waits.run.period_ns = 1;
    waits.bin_ns = profile.bin_ns;
    std::uint32_t of = 0;
    while (waits.threads[waits.counts[of].thread].name != "server") ++of;
    std::uint32_t free = 0;
    const auto runs_then = [&](const TimedWeight& one) {
        return one.bin == free && profile.counts[one.count].thread == waits.counts[of].thread;
    };
    while (std::any_of(profile.times.begin(), profile.times.end(), runs_then)) ++free;
    for (NamedCount& count : waits.counts) count.weight = 0;
    waits.counts[of].weight = 500'000'000;
    waits.times.push_back({of, free, waits.counts[of].weight, 1});
    profile.others.push_back(std::move(waits));
    return profile;
}

/// A run of three processes on one time axis of ten steps: make in the first and the last, each compiler in four.
NamedProfile profile_of_processes() {
    test::ProfileOf made;
    made.folded("t:make 7;t:make;main;wait 20\nt:cc1 8;t:cc1;main;parse 300\nt:cc1 9;t:cc1;main;emit 400\n");
    NamedProfile profile = std::move(made.profile);
    profile.has_run = true;
    profile.run = test::demo_profile().run;
    profile.run.period_ns = 10'000'000;
    profile.process_first = true;
    profile.processes = "make and its children, 3 processes";
    profile.merged_runs = 3;
    profile.threads = {{7, "make"}, {8, "cc1"}, {9, "cc1"}};
    profile.bin_ns = 1'000'000'000;
    for (std::uint32_t at = 0; at < profile.counts.size(); ++at) {
        NamedCount& count = profile.counts[at];
        NodeId process = count.node;
        while (profile.nodes[process].parent != 0) process = profile.nodes[process].parent;
        const std::string_view name = profile.name(profile.nodes[process].frame);
        count.thread = name == "make 7" ? 0 : name == "cc1 8" ? 1 : 2;
        count.weight *= profile.run.period_ns;
        const std::vector<std::uint32_t> bins = count.thread == 0   ? std::vector<std::uint32_t>{0, 9}
                                                : count.thread == 1 ? std::vector<std::uint32_t>{1, 2, 3, 4}
                                                                    : std::vector<std::uint32_t>{5, 6, 7, 8};
        for (const std::uint32_t bin : bins)
            profile.times.push_back({at, bin, count.weight / bins.size(), count.hits / bins.size()});
    }
    return profile;
}

/// A path of twenty functions of which each calls another one as well.
/// A stack of `levels` frames above `path`, at each level another beside it.
template <typename NameOf>
NamedProfile deep_profile(std::vector<std::string> path, int levels, NameOf name_of, const std::string& beside,
                          std::uint64_t weight_beside, std::uint64_t weight) {
    test::ProfileOf made;
    for (int level = 0; level < levels; ++level) {
        path.push_back(name_of(level));
        std::vector<std::string> other = path;
        other.push_back(beside);
        made.stack(other, weight_beside);
    }
    made.stack(path, weight);
    return std::move(made.profile);
}

NamedProfile branched_profile() {
    return deep_profile(
        {"t:main"}, 20, [](int level) { return "level_" + std::to_string(level); }, "side", 1, 100);
}

/// Two functions that call each other six hundred times, each level with something beside it.
NamedProfile recursive_profile() {
    const auto name = [](int level) { return std::string(level % 2 == 0 ? "Parser::value" : "Parser::array"); };
    return deep_profile({"t:json", "main", "parse"}, 600, name, "strtod", 2, 5);
}

/// A function whose source is there: this program's file.
NamedProfile profile_with_source() {
    test::ProfileOf made;
    made.folded("t:server;here 9\nt:server;elsewhere 1\n");
    NamedProfile& profile = made.profile;
    for (Function& function : profile.functions) {
        const bool here = profile.strings.view(function.name) == "here";
        function.file =
            profile.strings.intern(here ? std::filesystem::read_symlink("/proc/self/exe").string() : "/none");
        function.line = 7;
    }
    return std::move(made.profile);
}

/// Most of it is in the kernel, below a chain that little leaves.
NamedProfile profile_in_kernel() {
    const std::string handle = "t:server;main;std::a;std::b;std::c;std::d;std::e;std::f;std::g;handle;",
                      send =
                          handle + "write;k:entry_SYSCALL_64;k:do_syscall_64;k:ksys_write;k:vfs_write;k:tcp_sendmsg;";
    test::ProfileOf made;
    made.folded(send + "k:ip_output;k:net_rx 600\n" + send + "k:copy 300\n" + handle +
                "parse 100\nt:server;main;std::a;std::b;log 5\n");
    return std::move(made.profile);
}

/// Of three seconds: 64 KiB that are freed in the second one, in which 100 come, and in the third 20 more.
NamedProfile heap_over_time() {
    constexpr std::uint64_t kib = 1024, second = 1'000'000'000;
    test::ProfileOf made;
    made.stack({"t:main", "gone"}, 0);
    made.stack({"t:main", "stays"}, 100 * kib);
    made.stack({"t:main", "comes", "late"}, 20 * kib);
    NamedProfile& heap = made.profile;
    for (NamedCount& count : heap.counts) count.hits = count.weight == 0 ? 0 : 1;
    heap.has_run = true;
    heap.run.event = event_name::heap_end;
    heap.bin_ns = heap.alive_stretch_ns = second;
    heap.times = {
        {0, 0, 64 * kib, 1}, {0, 1, 0 - 64 * kib, 0 - std::uint64_t{1}}, {1, 1, 100 * kib, 1}, {2, 2, 20 * kib, 1}};
    heap.alive = {64 * kib, 164 * kib, 120 * kib};
    heap.has_ages = true;
    heap.counts[1].age = {2 * second, 2 * second};
    heap.counts[2].age = {second / 2, second};
    return std::move(made.profile);
}

/// As of a timer above the kernel's tick: a sample stands for four periods, and what was lost is none.
NamedProfile weighted_profile() {
    NamedProfile profile = test::demo_profile();
    for (NamedCount& count : profile.counts) {
        const bool lost = profile.name(profile.nodes[count.node].frame) == "[lost]";
        count.hits = lost ? 0 : (count.hits + 3) / 4;
    }
    return profile;
}

/// Of one run CPU time, waiting time, both, and a number of page faults that no clock measures.
NamedProfile profile_of_events() {
    NamedProfile profile = test::demo_profile();
    const auto other = [&](const char* event, const char* kind, std::uint64_t period_ns, const char* folded) {
        test::ProfileOf made;
        made.folded(folded);
        made.profile.has_run = true;
        made.profile.run = profile.run;
        made.profile.run.event = event;
        made.profile.run.event_kind = kind;
        made.profile.run.period_ns = period_ns;
        made.profile.threads = profile.threads;
        made.profile.summary = profile.summary;
        profile.others.push_back(std::move(made.profile));
    };
    other("offcpu", "waiting time", 1, R"(t:server;_start;main;EventLoop::poll(int);epoll_wait 6000000000
t:server;_start;main;Connection::read();n:[preempted] 250000000
t:worker;clone3;start_thread;Worker::loop();futex 3750000000
)");
    other("wall", "running and waiting time", 1, R"(t:server;_start;main;EventLoop::poll(int);epoll_wait 6000000000
t:server;_start;main;Connection::read() 4000000000
t:worker;clone3;start_thread;Worker::loop();Cart::total() const 10000000000
)");
    other("page-faults", "software event", 0, R"(t:server;_start;main;Connection::read() 700
t:worker;clone3;start_thread;Worker::loop() 1300
)");
    return profile;
}

/// Lines and instructions of Parser::parse, with an inlined function in place and text that must not be markup.
bool make_source(const std::string& path) {
    const NamedProfile profile = test::demo_profile();
    const auto id = [&](std::string_view name) {
        FunctionId found = 0;
        while (profile.strings.view(profile.functions[found].name) != name) ++found;
        return found;
    };
    const FunctionId parse = id("Parser::parse(std::string_view)");
    const FunctionId inlined = id("std::char_traits<char>::compare(char const*, char const*, unsigned long)");
    const auto periods = [&](std::uint64_t count) { return count * profile.run.period_ns; };
    const Amount tested{periods(331), 110}, compared{periods(96), 32};
    PageSource source;
    source.functions.push_back(
        {parse,
         periods(427),
         {{42, tested, tested, {}},
          {44, {}, compared, {{inlined, {{388, compared, compared, {}}}}}},
          {47, {}, {periods(75), 25}, {}}},
         {{40, "int Parser::parse(std::string_view text) {"},
          {42, "\tif (text == \"</script><b>\") return 1;"},
          {44, "    if (text.compare(0, 4, \"done\")) {"},
          {47, "    return new Node{text};"}},
         {{0x1000, {}, "push rbp"}, {0x1001, {periods(427), 142}, "cmp eax, 0x3c"}, {0x1004, {}, "ret "}},
         "the last note"});
    source.inlined.push_back({inlined, {{388, "return __builtin_memcmp(a, b, n);"}}});
    FlameGraphOptions options;
    options.source = &source;
    return make(path, write_html, profile, options);
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

/// So many different stacks of 30,000 functions, as a random walk over call trees makes them: the same every time.
NamedProfile many_stacks(std::uint32_t stacks) {
    NamedProfile profile;
    std::uint32_t seed = 12345;
    const auto random = [&](std::uint32_t limit) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 8) % limit;
    };
    constexpr std::uint32_t functions = 30'000;
    // Some functions are called far more often than others.
    const auto any_function = [&] {
        const std::uint64_t number = random(functions);
        return static_cast<FrameId>(number * number / functions * number / functions);
    };
    for (std::uint32_t id = 0; id < functions; ++id) {
        const std::string name =
            "shop::module_" + std::to_string(id % 97) + "::Class<int>::method_" + std::to_string(id);
        profile.functions.push_back({.name = profile.strings.intern(name)});
        profile.frames.push_back({.function = id});
    }
    profile.nodes.push_back({});
    NodeIndex children;
    std::vector<NodeId> path{0};
    std::vector<bool> ends(1);
    const auto descend = [&](FrameId frame) {
        path.push_back(children.child(profile.nodes, path.back(), frame));
        ends.resize(profile.nodes.size());
    };
    for (const FrameId frame : {1U, 2U, 3U}) descend(frame);
    while (profile.counts.size() < stacks) {
        path.resize(4 + random(static_cast<std::uint32_t>(path.size()) - 3));
        while (path.size() < 13 || (path.size() < 25 && random(2) == 0)) descend(any_function());
        if (ends[path.back()]) continue;
        ends[path.back()] = true;
        const std::uint64_t samples = 1 + random(50);
        profile.counts.push_back({path.back(), 0, samples, samples});
    }
    return profile;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::string{argv[2]} == "--stacks")
        return make(std::string{argv[1]} + "/stacks.html", write_html,
                    many_stacks(static_cast<std::uint32_t>(std::stoul(argv[3]))), {})
                   ? 0
                   : 1;
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
    good = make(directory + "times.html", write_html, timed_profile(), {}) && good;
    good = make(directory + "waits.html", write_html, waiting_profile(), {}) && good;
    good = make(directory + "kernel.html", write_html, profile_in_kernel(), {}) && good;
    good = make(directory + "kernel.svg", write_svg, profile_in_kernel(), {}) && good;
    good = make(directory + "recursion.html", write_html, recursive_profile(), {}) && good;
    good = make(directory + "editor.html", write_html, profile_with_source(), {}) && good;
    good = make(directory + "branches.html", write_html, branched_profile(), {}) && good;
    good = make(directory + "processes.html", write_html, profile_of_processes(), {}) && good;
    good = make(directory + "events.html", write_html, profile_of_events(), {}) && good;
    NamedProfile weighted = weighted_profile();
    good = make(directory + "weighted.html", write_html, weighted, {}) && good;
    weighted.bin_ns = weighted.summary.duration_ns;
    for (std::uint32_t at = 0; at < weighted.counts.size(); ++at)
        weighted.times.push_back({at, at % 2, weighted.counts[at].weight, weighted.counts[at].hits});
    good = make(directory + "weighted-times.html", write_html, weighted, {}) && good;
    good = make(directory + "heap-steps.html", write_html, heap_over_time(), {}) && good;
    NamedProfile heap = branched_profile();
    heap.has_run = true;
    heap.run.event = event_name::heap;
    heap.alive = {1000, 3000, 2000};
    heap.alive_stretch_ns = 1'000'000'000;
    good = make(directory + "heap.html", write_html, heap, {}) && good;
    good = make_source(directory + "source.html") && good;
    good = make(directory + "hostile.html", write_html, hostile_profile(), {}) && good;
    good = make(directory + "large.html", write_html, large_profile(), {}) && good;
    good = make(directory + "folded.svg", write_svg, large_profile(), {}) && good;
    FlameGraphOptions every;
    every.every_frame = true;
    good = make(directory + "large.svg", write_svg, large_profile(), every) && good;
    return good ? 0 : 1;
}
