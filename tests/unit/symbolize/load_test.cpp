#include "symbolize/load.hpp"

#include <doctest/doctest.h>

#include "profile_file.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

std::string loaded(const SampleFilter& filter) {
    const ProfileFile file(fill_server);
    const auto profile = load_profile(file.path(), filter, {});
    return profile ? as_text(*profile) : profile.error().message;
}

SampleFilter only(auto SampleFilter::*field, auto value) {
    SampleFilter filter;
    filter.*field = value;
    return filter;
}

const std::string in_scope_1 = "worker;main;handle;checkout;outer;inner 2\n";
const std::string in_scope_2 = "worker;main;handle;checkout;outer;inner 3\n";
const std::string others = "worker;main;handle;do_read 1\nworker;[lost] 4\n";

}  // namespace

TEST_CASE("equal samples are added up, inlined callees are frames, threads come first") {
    CHECK(loaded({}) == "server;main;handle 1\n" + in_scope_1 + in_scope_2 + others);
}

TEST_CASE("threads of one name share their nodes, and every stack is expanded once") {
    const ProfileFile file(fill_server);
    const auto profile = load_profile(file.path(), {}, {});
    REQUIRE(profile);
    CHECK(profile->counts[1].node == profile->counts[2].node);
    CHECK(profile->counts[1].thread != profile->counts[2].thread);
    // The root; server, main, handle; worker, main, handle, checkout, outer, inner, do_read, [lost].
    CHECK(profile->nodes.size() == 12);
    for (NodeId id = 1; id < profile->nodes.size(); ++id) CHECK(profile->nodes[id].parent < id);
}

TEST_CASE("frames have their kind, line and address") {
    const ProfileFile file(fill_server);
    const auto profile = load_profile(file.path(), {}, {});
    REQUIRE(profile);
    const NamedNode& leaf = profile->nodes[profile->counts[1].node];
    const NamedFrame& inner = profile->frames[leaf.frame];
    const NamedFrame& outer = profile->frames[profile->nodes[leaf.parent].frame];
    CHECK(inner.line == 31);
    CHECK(outer.line == 41);
    CHECK(inner.location == 3);
    CHECK(outer.location == 3);
    const Function& function = profile->functions[inner.function];
    CHECK(function.kind == FrameKind::inlined);
    CHECK(function.line == 30);
    CHECK(profile->strings.view(function.file) == "a.cpp");
    CHECK(profile->strings.view(function.module) == "/nonexistent/server");
    CHECK(profile->functions[outer.function].kind == FrameKind::user);
    const auto kind_of_leaf = [&](std::size_t i) {
        return profile->functions[profile->frames[profile->nodes[profile->counts[i].node].frame].function].kind;
    };
    CHECK(kind_of_leaf(3) == FrameKind::kernel);
    CHECK(kind_of_leaf(4) == FrameKind::note);
    CHECK(profile->has_run);
    CHECK(profile->run.pid == 77);
}

TEST_CASE("samples are chosen by thread, scope, time and process") {
    CHECK(loaded(only(&SampleFilter::thread, "server")) == "server;main;handle 1\n");
    CHECK(loaded(only(&SampleFilter::thread, "78")) == in_scope_1);
    CHECK(loaded(only(&SampleFilter::thread, "worker")) == in_scope_1 + in_scope_2 + others);
    CHECK(loaded(only(&SampleFilter::thread, "other")).empty());  // its name before the last one
    CHECK(loaded(only(&SampleFilter::scope, "checkout")) == in_scope_1 + in_scope_2);
    CHECK(loaded(only(&SampleFilter::scope, "check")).empty());
    CHECK(loaded(only(&SampleFilter::from_ns, 500)) == others);
    CHECK(loaded(only(&SampleFilter::to_ns, 200)) == "server;main;handle 1\n");
    CHECK(loaded(only(&SampleFilter::pid, 77)) == loaded({}));
    CHECK(loaded(only(&SampleFilter::pid, 78)).empty());
}

TEST_CASE(
    "what could have run is no wait: of waiting time it is the thread's own box, but a lock's holder is waited for") {
    const ProfileFile file([](ProfileWriter& out) {
        fill_server(out);
        out.event(1, {"offcpu", "waiting time", 99, 1});
        out.mapping(4, {MappingKind::note, 0, 0, 0, 0, "[preempted]", ""});
        out.mapping(5, {MappingKind::note, 0, 0, 0, 0, "[held by worker]", ""});
        out.location(6, {4, 0});
        out.location(7, {5, 0});
        out.stack(7, {2, 6});
        out.stack(8, {1, 6});
        out.stack(9, {2, 7});
        out.stack(10, {9, 6});
        for (const StackId stack : {7, 8, 10}) out.event_sample(1, {800, 0, stack, 5});
    });
    const auto text = [&](const char* event) {
        const auto profile = load_profile(file.path(), only(&SampleFilter::event, event), {});
        return profile ? as_text(*profile) : profile.error().message;
    };
    CHECK(text("offcpu") ==
          "server;[preempted] 5\nserver;[preempted] 5\nserver;main;handle;[held by worker];[preempted] 5\n");
    CHECK(text("wall").find("server;main;handle;[preempted] 5\n") != std::string::npos);
    // Without names, as the facts of a profile are told, there is only the thread.
    SymbolizeOptions bare;
    bare.names_wanted = [](const NamedProfile&) { return false; };
    const auto facts = load_profile(file.path(), only(&SampleFilter::event, "offcpu"), bare);
    REQUIRE(facts);
    CHECK(as_text(*facts) == "server 5\nserver 5\nserver 5\n");
}

TEST_CASE("stacks that are not selected have no nodes") {
    const ProfileFile file(fill_server);
    const auto profile = load_profile(file.path(), only(&SampleFilter::thread, "server"), {});
    REQUIRE(profile);
    CHECK(profile->nodes.size() == 4);
}

TEST_CASE("an empty file, and one of another format, is an error") {
    const ProfileFile empty([](ProfileWriter&) {});
    const auto nothing = load_profile(empty.path(), {}, {});
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error().message.find("is empty") != std::string::npos);
    const auto foreign = load_profile("/proc/self/exe", {}, {});
    REQUIRE_FALSE(foreign);
    CHECK(foreign.error().message.find("not a .fprobe") != std::string::npos);
}

TEST_CASE("a warning says where a fatal signal ended the program") {
    const ProfileFile file([](ProfileWriter& out) {
        fill_server(out);
        out.host(Death{11, 1, 79, 0xdead, 800, {0x1300, 0x1200, 0x99999}});
    });
    const auto profile = load_profile(file.path(), {}, {});
    REQUIRE(profile);
    REQUIRE(profile->warnings.size() >= 1);
    const std::string told = profile->warnings.back();
    CHECK(told.starts_with("the program was ended by SIGSEGV (Segmentation fault) in thread worker, in "));
    CHECK(told.ends_with(", 0x99999"));
    CHECK(profile->counts.size() == 5);
}

TEST_CASE("a cache gives the same names again, and keeps files apart") {
    const auto fill = [](const std::string& path, std::uint64_t start) {
        return [path, start](ProfileWriter& out) {
            out.mapping(0, {MappingKind::file, start, 0x1000, 0x500, 0, path, ""});
            out.thread(0, {1, "main"});
            out.location(0, {0, start + 0x10});
            out.stack(1, {0, 0});
            out.sample({0, 0, 1, 1});
        };
    };
    const ProfileFile first(fill("/nonexistent/one", 0x1000)), moved(fill("/nonexistent/one", 0x77000)),
        other(fill("/nonexistent/two", 0x1000));
    SymbolCache cache;
    const auto names = [&cache](const ProfileFile& file, std::size_t warnings) {
        auto source = ByteSource::open(file.path());
        REQUIRE(source);
        const auto profile = load_profile(*source, {}, {}, &cache);
        REQUIRE(profile);
        CHECK(profile->warnings.size() == warnings);  // there is no look-up that could fail, so no warning
        return as_text(*profile);
    };
    CHECK(names(first, 1) == "main;[unknown in one] 1\n");
    CHECK(names(moved, 0) == "main;[unknown in one] 1\n");
    CHECK(names(other, 1) == "main;[unknown in two] 1\n");
}

TEST_CASE("a stack of a million frames is loaded") {
    const ProfileFile file([](ProfileWriter& out) {
        out.mapping(0, {MappingKind::note, 0, 0, 0, 0, "", ""});
        out.location(0, {0, 0});
        out.thread(0, {1, "deep"});
        for (StackId id = 1; id <= 1'000'000; ++id) out.stack(id, {id - 1, 0});
        out.sample({0, 0, 1'000'000, 1});
    });
    const auto profile = load_profile(file.path(), {}, {});
    REQUIRE(profile);
    CHECK(profile->nodes.size() == 1'000'002);
    CHECK(profile->counts.size() == 1);
}

TEST_CASE("a small file that stands for more frames than memory holds is refused") {
    const ProfileFile file([](ProfileWriter& out) {
        out.string(0, "f");
        out.mapping(0, {MappingKind::file, 0, 0, 0, 0, "/nonexistent/x", ""});
        out.location(0, {0, 0});
        out.symbols(0, std::vector<ArchivedSymbol>(256, ArchivedSymbol{0, 0, 1, 1, true}));
        out.thread(0, {1, "main"});
        for (StackId id = 1; id <= 300'000; ++id) out.stack(id, {id - 1, 0});
        out.sample({0, 0, 300'000, 1});
    });
    const auto profile = load_profile(file.path(), {}, {});
    REQUIRE_FALSE(profile);
    CHECK(profile.error().message.find("more than 67108864 frames") != std::string::npos);
}

TEST_CASE("weights beyond 64 bits stop at the largest number") {
    const ProfileFile file([](ProfileWriter& out) {
        out.thread(0, {1, "main"});
        out.sample({0, 0, 0, ~std::uint64_t{0}});
        out.sample({0, 0, 0, 5});
    });
    const auto profile = load_profile(file.path(), {}, {});
    REQUIRE(profile);
    CHECK(as_text(*profile) == "main 18446744073709551615\n");
}

TEST_CASE("the debug information read for a brief run is limited by its CPU time, unless it has many samples") {
    constexpr std::uint64_t millisecond = 1'000'000, mebibyte = std::uint64_t{1} << 20;
    Summary summary;
    summary.hits = summary.samples = 2;
    summary.process_cpu_ns = 20 * millisecond;
    CHECK(debug_bytes_worth(summary) == 4 * mebibyte);
    summary.process_cpu_ns = 800 * millisecond;
    CHECK(debug_bytes_worth(summary) > 50 * mebibyte);
    CHECK(debug_bytes_worth(summary) < 60 * mebibyte);
    summary.hits = summary.samples = 100;
    summary.process_cpu_ns = 20 * millisecond;
    CHECK(debug_bytes_worth(summary) > 1024 * mebibyte);
}

TEST_CASE("a function without a name has the program's as it was called, not that of the file behind a link") {
    const auto named = [](const char* command, const char* executable) {
        const ProfileFile file([&](ProfileWriter& out) {
            RunInfo run;
            run.pid = 77;
            run.period_ns = 1000;
            run.command = command;
            run.executable = executable;
            out.run(run);
            out.mapping(0, {MappingKind::file, 0x1000, 0x1000, 0, 0, executable, ""});
            out.thread(0, {77, "main"});
            out.location(0, {0, 0x1100});
            out.stack(1, {0, 0});
            out.sample({100, 0, 1, 1});
        });
        const auto profile = load_profile(file.path(), {}, {});
        return profile ? as_text(*profile) : profile.error().message;
    };
    CHECK(named("redis-server --port 1", "/nonexistent/redis-check-rdb") == "main;[unknown in redis-server] 1\n");
    CHECK(named("/nonexistent/my server --port 1", "/nonexistent/my server") == "main;[unknown in my server] 1\n");
    CHECK(named("-bash", "/nonexistent/bash") == "main;[unknown in bash] 1\n");
}

TEST_CASE("a function of glibc has its public name, and is one frame where debug information has two names for it") {
    const ProfileFile file([](ProfileWriter& out) {
        RunInfo run;
        run.pid = 77;
        out.run(run);
        for (std::uint32_t id = 0;
             const char* name : {"", "read", "__GI___libc_read", "__GI_memcpy", "__GI___read_chk"})
            out.string(id++, name);
        out.mapping(0, {MappingKind::file, 0x1000, 0x1000, 0, 0, "/nonexistent/libc.so.6", ""});
        out.thread(0, {77, "main"});
        out.location(0, {0, 0x1100});
        out.location(1, {0, 0x1200});
        out.symbols(0, {{2, 0, 26, 24, true}, {1, 0, 24, 24, false}});
        out.symbols(1, {{3, 0, 7, 5, true}, {4, 0, 9, 8, false}});
        out.stack(1, {0, 0});
        out.stack(2, {0, 1});
        out.sample({100, 0, 1, 1});
        out.sample({200, 0, 2, 1});
    });
    const auto profile = load_profile(file.path(), {}, {});
    REQUIRE(profile);
    CHECK(as_text(*profile) == "main;read 1\nmain;__read_chk;memcpy 1\n");
    CHECK(profile->frames[profile->nodes[profile->counts[0].node].frame].line == 26);
}

TEST_CASE("where names_wanted() says no, no function is named; samples, threads and stacks are the same") {
    const ProfileFile file(fill_server);
    const auto named = load_profile(file.path(), {}, {});
    SymbolizeOptions options;
    std::uint32_t asked = 0;
    bool answer = false;
    options.names_wanted = [&](const NamedProfile& profile) {
        asked = profile.run.pid;
        return answer;
    };
    const auto bare = load_profile(file.path(), {}, options);
    REQUIRE(named);
    REQUIRE(bare);
    CHECK(asked == 77);
    for (const Function& function : bare->functions) CHECK(function.kind == FrameKind::thread);
    REQUIRE(bare->counts.size() == named->counts.size());
    for (std::size_t i = 0; i < bare->counts.size(); ++i) {
        CHECK(bare->counts[i].weight == named->counts[i].weight);
        CHECK(bare->counts[i].thread == named->counts[i].thread);
    }
    answer = true;
    const auto wanted = load_profile(file.path(), {}, options);
    REQUIRE(wanted);
    CHECK(as_text(*wanted) == as_text(*named));
}
