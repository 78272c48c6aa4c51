// A profile with everything a writer may meet, made by hand: threads, scopes, inlined and kernel functions, recursion,
// notes, two lines of one function, and names that need quoting or are no UTF-8. tests/integration/formats gives it to
// the real tools, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

class SampleProfile {
public:
    static constexpr std::uint64_t period_ns = 10'000'000;

    SampleProfile() {
        profile_.nodes.emplace_back();
        run();
        fill();
        for (const NamedCount& count : profile_.counts) profile_.summary.samples += count.weight;
        for (const NamedCount& count : profile_.counts) profile_.summary.hits += count.hits;
        profile_.summary.rooted = profile_.summary.samples - 3 * period_ns;
        profile_.summary.truncated_hits = 3;
        profile_.summary.process_cpu_ns = profile_.summary.samples;
        profile_.summary.threads = {{0, 500'000'000, 40 * period_ns}, {1, 900'000'000, 90 * period_ns}};
    }
    const NamedProfile& get() const { return profile_; }

private:
    void run() {
        profile_.has_run = true;
        RunInfo& run = profile_.run;
        run.version = FLAMEPROBE_VERSION;
        run.command = "/usr/bin/demo --port 80 \"</script>\"";
        run.executable = "/usr/bin/demo";
        run.host = "host 6.1";
        run.pid = 100;
        run.start_unix_ns = 1'700'000'000'000'000'000;
        run.engine = "ring";
        run.engine_reason = "it is allowed";
        run.unwinder = "dwarf";
        run.event = "cpu-clock";
        run.event_kind = "software clock";
        run.kernel = "on";
        run.frequency_asked = 100;
        run.period_ns = period_ns;
        profile_.summary.complete = true;
        profile_.summary.duration_ns = 5'000'000'000;
        profile_.threads = {{100, "demo"}, {101, "worker 3"}};
        // The library first: the main program has to be found, wherever it is.
        profile_.mappings = {
            {MappingKind::file, 0x7f0000000000, 0x10000, 0x1000, 0, "/usr/lib/libdemo.so", "\x01\x02"},
            {MappingKind::file, 0x400000, 0x8000, 0x1000, 0, "/usr/bin/demo", std::string("\xab\x00\xcd", 3)},
            {MappingKind::kernel, 0, 0, 0, 0, "", ""},
            {MappingKind::note, 0, 0, 0, 0, "", ""},
            {MappingKind::scope, 0, 0, 0, 0, "", ""}};
        profile_.warnings = {"a warning"};
    }

    void fill() {
        const FrameId demo = frame(function("demo", FrameKind::thread));
        const FrameId worker = frame(function("worker 3", FrameKind::thread));
        const FrameId main = at(function("main", FrameKind::user, "demo.cpp", 10, 1), 12, 1, 0x400100);
        const FunctionId parse_function =
            function("ns::parse<int, char>(char const*, unsigned int)", FrameKind::user, "parse.cpp", 20, 1);
        const FrameId parse = at(parse_function, 25, 1, 0x400200);
        const FrameId parse_later = at(parse_function, 29, 1, 0x400240);
        // Inlined at 0x400240, one into the other; the same function also has a copy of its own.
        const FrameId trim = same(parse_later, function("trim(char*)", FrameKind::inlined, "text.hpp", 5, 1), 7);
        const FrameId is_space = same(parse_later, function("is_space(char)", FrameKind::inlined, "text.hpp", 2, 1), 3);
        const FrameId own_trim = at(function("trim(char*)", FrameKind::user, "text.hpp", 5, 1), 8, 1, 0x400300);
        const FrameId zip = at(function("zip", FrameKind::user, "", 0, 0), 0, 0, 0x7f0000000100);
        const FrameId kernel_read = at(function("vfs_read", FrameKind::kernel), 0, 2, 0xffffffff81000000);
        const FrameId truncated = at(function("[truncated]", FrameKind::note), 0, 3, 0);
        const FrameId checkout = at(function("checkout", FrameKind::scope), 0, 4, 0);
        const FrameId payment = at(function("payment; step 2", FrameKind::scope), 0, 4, 1);
        const FrameId tenant = at(function("tenant=acme", FrameKind::scope), 0, 4, 2);

        add(0, {demo, main}, 1);
        add(0, {demo, main, parse}, 4);
        add(0, {demo, main, parse_later, trim, is_space}, 10);
        add(0, {demo, main, parse_later, trim}, 2);
        add(0, {demo, main, own_trim}, 5);
        add(0, {demo, main, zip, kernel_read}, 8);
        add(1, {worker, main, zip}, 20);
        add(1, {worker, main, checkout, zip}, 30);
        add(1, {worker, main, tenant, checkout, payment, parse}, 6);
        add(1, {worker, truncated, zip}, 3);
        add(0, {demo, main, own_trim, parse_later, trim}, 2);  // trim() twice, once of them inlined
        hostile(worker, main);
    }

    void hostile(FrameId thread, FrameId root) {
        std::uint64_t address = 0x401000;
        for (const char* name :
             {"operator 12", "a;b", "new\nline\ttab", "bell\x07", "bad\xff\xfeutf8", "</script><b>&amp;", "]]>",
              "\"quoted\\\"", "line\xe2\x80\xa8separator", "emoji \xf0\x9f\x94\xa5", "# comment", ""})
            add(1, {thread, root, at(function(name, FrameKind::user, "hostile.cpp", 1, 1), 2, 1, address++)}, 1);
        add(1, {thread, root, at(function(std::string(5000, 'n'), FrameKind::user, "", 0, 1), 0, 1, address++)}, 1);
        std::vector<FrameId> deep{thread, root};
        const FrameId recursion = at(function("recurse(int)", FrameKind::user, "deep.cpp", 3, 1), 4, 1, address++);
        deep.insert(deep.end(), 3000, recursion);
        add(1, deep, 9);
    }

    FunctionId function(std::string_view name, FrameKind kind, std::string_view file = "", std::uint32_t line = 0,
                        int mapping = -1) {
        const StringId module =
            mapping < 0 ? 0 : profile_.strings.intern(profile_.mappings[static_cast<std::size_t>(mapping)].path);
        profile_.functions.push_back(
            {profile_.strings.intern(name), profile_.strings.intern(file), line, module, kind});
        return static_cast<FunctionId>(profile_.functions.size() - 1);
    }
    FrameId frame(FunctionId function, std::uint32_t line = 0, LocationId location = NamedFrame::no_location) {
        profile_.frames.push_back({function, line, location});
        return static_cast<FrameId>(profile_.frames.size() - 1);
    }
    FrameId at(FunctionId function, std::uint32_t line, MappingId mapping, std::uint64_t address) {
        profile_.locations.push_back({mapping, address});
        return frame(function, line, static_cast<LocationId>(profile_.locations.size() - 1));
    }
    FrameId same(FrameId outer, FunctionId function, std::uint32_t line) {
        return frame(function, line, profile_.frames[outer].location);
    }
    void add(ThreadId thread, const std::vector<FrameId>& stack, std::uint64_t samples) {
        NodeId node = 0;
        for (const FrameId frame : stack) node = child(node, frame);
        profile_.counts.push_back({node, thread, samples * period_ns, samples});
    }
    NodeId child(NodeId parent, FrameId frame) {
        for (NodeId node = 1; node < profile_.nodes.size(); ++node)
            if (profile_.nodes[node].parent == parent && profile_.nodes[node].frame == frame) return node;
        profile_.nodes.push_back({parent, frame});
        return static_cast<NodeId>(profile_.nodes.size() - 1);
    }

    NamedProfile profile_;
};

}  // namespace flameprobe
