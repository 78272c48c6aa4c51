// A `.fprobe` on disk for a test, with names stored in it, so that no binary is needed.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "profile/writer.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe::test {

class ProfileFile {
public:
    explicit ProfileFile(const std::function<void(ProfileWriter&)>& fill) {
        ProfileWriter writer{Descriptor(mkstemp(path_.data()))};
        fill(writer);
        static_cast<void>(writer.flush());
    }
    ~ProfileFile() { ::unlink(path_.c_str()); }
    ProfileFile(const ProfileFile&) = delete;
    ProfileFile& operator=(const ProfileFile&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_ = "/tmp/flameprobe-test-XXXXXX";
};

/// "thread;outer;inner WEIGHT" lines of a profile, in the order of its counts.
inline std::string as_text(const NamedProfile& profile) {
    std::string text;
    for (const NamedCount& count : profile.counts) {
        std::string stack;
        for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent) {
            stack = std::string(profile.name(profile.nodes[node].frame)) + (stack.empty() ? "" : ";") + stack;
        }
        text += stack + " " + std::to_string(count.weight) + "\n";
    }
    return text;
}

/// Two workers of one name and a main thread. main -> handle [checkout] -> inner inlined into outer; a kernel leaf.
inline void fill_server(ProfileWriter& out) {
    RunInfo run;
    run.pid = 77;
    run.period_ns = 1000;
    out.run(run);
    for (std::uint32_t id = 0;
         const char* name : {"checkout", "main", "handle", "outer", "inner", "do_read", "a.cpp", ""}) {
        out.string(id++, name);
    }
    out.mapping(0, {MappingKind::file, 0x1000, 0x1000, 0, 0, "/nonexistent/server", ""});
    out.mapping(1, {MappingKind::scope, 0, 0, 0, 0, "", ""});
    out.mapping(2, {MappingKind::kernel, 0, 0, 0, 0, "", ""});
    out.mapping(3, {MappingKind::note, 0, 0, 0, 0, "", ""});
    out.thread(0, {77, "server"});
    out.thread(1, {78, "worker"});
    out.thread(2, {79, "other"});
    out.thread(2, {79, "worker"});
    out.location(0, {0, 0x1100});
    out.location(1, {0, 0x1200});
    out.location(2, {1, 0});
    out.location(3, {0, 0x1300});
    out.location(4, {2, 0xffffffff81000000});
    out.location(5, {3, static_cast<std::uint64_t>(Note::lost)});
    out.symbols(0, {{1, 6, 10, 9, false}});
    out.symbols(1, {{2, 6, 20, 19, false}});
    out.symbols(3, {{4, 6, 31, 30, true}, {3, 6, 41, 40, false}});
    out.symbols(4, {{5, 7, 0, 0, false}});
    out.stack(1, {0, 0});
    out.stack(2, {1, 1});
    out.stack(3, {2, 2});
    out.stack(4, {3, 3});
    out.stack(5, {2, 4});
    out.stack(6, {0, 5});
    out.sample({100, 0, 2, 1});
    out.sample({200, 1, 4, 1});
    out.sample({300, 1, 4, 1});
    out.sample({400, 2, 4, 3});
    out.sample({500, 2, 5, 1});
    out.sample({600, 2, 6, 4});
    out.sample({700, 0, 2, 0});
}

}  // namespace flameprobe::test
