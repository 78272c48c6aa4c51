// Profiles of real programs with their names, as text: what answers are made of, and nothing else. A line each:
//   event NAME KIND PERIOD_NS HZ      program PATH      share NAME PID WEIGHT SAMPLES      thread CPU_NS
//   f KIND MODULE FILE NAME           n PARENT FUNCTION c NODE THREAD WEIGHT SAMPLES
// with tabs between. `keep-profile x.fprobe [EVENT] > NAME.kept` (keep_profile.cpp) makes one.
#pragma once

#include <istream>
#include <sstream>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe::test {

inline std::string kept_text(const NamedProfile& profile) {
    std::ostringstream out;
    const auto text = [&](StringId id) { return profile.strings.view(id); };
    out << "event\t" << profile.run.event << '\t' << profile.run.event_kind << '\t' << profile.run.period_ns << '\t'
        << profile.run.frequency_asked << "\nprogram\t" << profile.run.executable << '\n';
    for (const auto& [path, name] : profile.programs) out << "program\t" << path << '\n';
    for (const ProcessShare& share : profile.shares)
        out << "share\t" << share.name << '\t' << share.pid << '\t' << share.weight << '\t' << share.samples << '\n';
    std::vector<std::uint64_t> cpu(profile.threads.size());
    for (const ThreadAccount& account : profile.summary.threads) cpu[account.thread] = account.cpu_ns;
    for (const std::uint64_t ns : cpu) out << "thread\t" << ns << '\n';
    for (const Function& function : profile.functions)
        out << "f\t" << static_cast<int>(function.kind) << '\t' << text(function.module) << '\t' << text(function.file)
            << '\t' << text(function.name) << '\n';
    for (std::size_t id = 1; id < profile.nodes.size(); ++id)
        out << "n\t" << id - profile.nodes[id].parent << '\t' << profile.function_of(static_cast<NodeId>(id)) << '\n';
    for (const NamedCount& count : profile.counts)
        out << "c\t" << count.node << '\t' << count.thread << '\t' << count.weight << '\t' << count.hits << '\n';
    return out.str();
}

inline NamedProfile read_kept(std::istream& in) {
    NamedProfile profile;
    profile.has_run = true;
    profile.nodes.emplace_back();
    for (std::string line; std::getline(in, line);) {
        std::vector<std::string> part(1);
        for (const char c : line) c == '\t' ? part.emplace_back() : part.back() += c, void();
        const auto number = [&](std::size_t at) { return std::stoull(part.at(at)); };
        const auto string = [&](std::size_t at) { return profile.strings.intern(part.at(at)); };
        if (part[0] == "event") {
            profile.run.event = part.at(1);
            profile.run.event_kind = part.at(2);
            profile.run.period_ns = number(3);
            profile.run.frequency_asked = number(4);
        } else if (part[0] == "program") {
            if (profile.run.executable.empty()) profile.run.executable = part.at(1);
            profile.programs.emplace(part.at(1), "");
        } else if (part[0] == "share") {
            profile.shares.push_back({part.at(1), static_cast<std::uint32_t>(number(2)), 0, number(3), number(4)});
        } else if (part[0] == "thread") {
            profile.summary.threads.push_back({static_cast<ThreadId>(profile.threads.size()), number(1), 0});
            profile.threads.push_back({});
        } else if (part[0] == "f") {
            const auto id = static_cast<FunctionId>(profile.functions.size());
            profile.functions.push_back({string(4), string(3), 0, string(2), static_cast<FrameKind>(number(1))});
            profile.frames.push_back({.function = id});
        } else if (part[0] == "n") {
            const auto id = static_cast<NodeId>(profile.nodes.size());
            profile.nodes.push_back({static_cast<NodeId>(id - number(1)), static_cast<FrameId>(number(2))});
        } else if (part[0] == "c") {
            profile.counts.push_back(
                {static_cast<NodeId>(number(1)), static_cast<ThreadId>(number(2)), number(3), number(4)});
        }
    }
    return profile;
}

}  // namespace flameprobe::test
