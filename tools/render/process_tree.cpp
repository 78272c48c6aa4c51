#include "process_tree.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "export/text.hpp"
#include "render/function_totals.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"
#include "tables.hpp"

namespace flameprobe {

std::uint64_t time_of(const RunInfo& run, const Summary& summary, std::uint64_t weight) {
    return weighs_nanoseconds(run) ? weight : summary.process_cpu_ns;
}

std::vector<ProcessShare> by_process(const std::vector<ProcessShare>& shares) {
    std::map<std::pair<std::uint32_t, std::string>, ProcessShare> sums;
    for (const ProcessShare& share : shares) {
        ProcessShare& sum = sums[{share.pid, share.name}];
        sum.name = share.name;
        sum.pid = share.pid;
        sum.time_ns = add_saturated(sum.time_ns, share.time_ns);
        sum.weight = add_saturated(sum.weight, share.weight);
        sum.samples += share.samples;
    }
    std::vector<ProcessShare> processes;
    for (auto& [key, sum] : sums) processes.push_back(std::move(sum));
    std::stable_sort(processes.begin(), processes.end(), [](const ProcessShare& a, const ProcessShare& b) {
        return std::tie(a.weight, a.time_ns) > std::tie(b.weight, b.time_ns);
    });
    return processes;
}

namespace {

bool is_word(std::string_view text) {
    const char first = text.empty() ? '\0' : static_cast<char>(text.front() | 0x20);
    return first >= 'a' && first <= 'z' && text.find_first_of("/@.:([*") == text.npos;
}

/// Whether it tells of a passing state, or for whom: "worker process is shutting down".
bool tells_more(std::string_view word) { return word == "is" || word == "for" || word.ends_with("ing"); }

/// Of a title that a program wrote over its arguments, such as "postgres: 15/main: walwriter": who it is and the words
/// that say what it is for. What names the instance ends in a colon; addresses and paths, and the state behind them,
/// are not for a name. Empty for what is no title.
std::string titled_name(std::string_view title) {
    constexpr std::size_t longest = 48;
    const std::size_t colon = title.find(": ");
    if (colon == title.npos || !is_word(title.substr(0, colon)) || title.find(' ') < colon) return {};
    const std::string who(title.substr(0, colon + 1));
    std::string name = who;
    for (title.remove_prefix(who.size()); !title.empty();) {
        title.remove_prefix(1);  // the space
        const std::string_view word = title.substr(0, title.find(' '));
        title.remove_prefix(word.size());
        if (word.ends_with(':'))
            name = who;
        else if (is_word(word) && !tells_more(word) && name.size() + word.size() < longest)
            name.append(" ").append(word);
        else
            break;
    }
    return name == who ? std::string() : name;
}

}  // namespace

ProcessNames::ProcessNames(const std::vector<ProcessPart>& parts) {
    for (const ProcessPart& part : parts) {
        if (!part.has_samples) continue;
        const std::string program = program_name(part.run), title = titled_name(part.summary.title);
        std::string& name = names_[{part.run.pid, program}];
        if (name.empty() || !title.empty()) name = title.empty() ? program : title;
    }
    name_launchers(parts);
    std::set<std::pair<std::uint32_t, std::string>> processes;
    for (const auto& [process, name] : names_) processes.emplace(process.first, name);
    for (const auto& [pid, name] : processes) ++alike_[name];
    count_ = processes.size();
}

/// What only executed another program (env, setpriv, a script that ends in exec) is called as what it became.
void ProcessNames::name_launchers(const std::vector<ProcessPart>& parts) {
    constexpr std::uint64_t most = 20;  // a launcher has less than this part of its process's time
    std::map<std::uint32_t, std::map<std::string, std::uint64_t>> weights;
    std::map<std::uint32_t, std::string> last;
    for (const ProcessPart& part : parts) {
        if (!part.has_samples) continue;
        const std::string program = program_name(part.run);
        weights[part.run.pid][program] += part.weight;
        last[part.run.pid] = program;
    }
    for (auto& [process, name] : names_) {
        const auto& [pid, program] = process;
        const auto& of = weights[pid];
        if (program != last[pid] && of.at(program) * most < of.at(last[pid])) name = names_[{pid, last[pid]}];
    }
}

std::string ProcessNames::name(const RunInfo& run) const {
    const auto found = names_.find({run.pid, program_name(run)});
    return found == names_.end() ? program_name(run) : found->second;
}

std::size_t ProcessNames::alike(const RunInfo& run) const {
    const auto found = alike_.find(name(run));
    return found == alike_.end() ? 1 : found->second;
}

std::string ProcessNames::of(const RunInfo& run) const {
    constexpr std::size_t many = 8;
    const std::size_t together = alike(run);
    return name(run) + (together >= many ? " × " + std::to_string(together) : " " + std::to_string(run.pid));
}

bool ProcessNames::are_apart(const RunInfo& run) const {
    constexpr std::size_t most = 64;
    return alike(run) <= most;
}

ProcessShare put_process_first(NamedProfile& profile, const ProcessNames& names) {
    const std::uint64_t weight = total_weight(profile);
    ProcessShare share{names.name(profile.run), profile.run.pid, time_of(profile.run, profile.summary, weight), weight,
                       total_hits(profile)};
    const auto function = static_cast<FunctionId>(profile.functions.size());
    profile.functions.push_back({profile.strings.intern(names.of(profile.run)), 0, 0, 0, FrameKind::thread});
    const auto frame = static_cast<FrameId>(profile.frames.size());
    profile.frames.push_back({function, 0, NamedFrame::no_location});
    constexpr NodeId process = 1;
    if (profile.nodes.empty()) profile.nodes.emplace_back();
    for (NodeId id = 1; id < profile.nodes.size(); ++id) ++profile.nodes[id].parent;  // 0 becomes the process's
    profile.nodes.insert(profile.nodes.begin() + process, {0, frame});
    for (NamedCount& count : profile.counts) ++count.node;
    profile.process_first = true;
    if (!names.are_apart(profile.run))
        for (Thread& thread : profile.threads) thread.tid = 0;
    return share;
}

std::string process_table(const std::vector<ProcessShare>& processes) {
    std::uint64_t all = 0;
    for (const ProcessShare& process : processes) all += process.weight;
    std::string out = "     time   samples            process\n";
    for (const ProcessShare& process : processes) {
        out += right_aligned(duration_text(process.time_ns), 9) + right_aligned(count_text(process.samples), 10) +
               right_aligned(percent_text(static_cast<double>(process.weight), static_cast<double>(all)), 9) + "   " +
               one_line(process.name) + " " + std::to_string(process.pid) + "\n";
    }
    return out;
}

namespace {

/// What the first process became: a launcher (env, setpriv, a script that ends in exec) is not what was run.
std::string first_program(const std::vector<ProcessPart>& parts) {
    const auto last = std::find_if(parts.rbegin(), parts.rend(),
                                   [&parts](const ProcessPart& part) { return part.run.pid == parts.front().run.pid; });
    return program_name(last->run);
}

/// The program that has more than half of the time; empty: none has.
std::string main_program(const std::vector<ProcessPart>& parts) {
    std::map<std::string, std::uint64_t> weights;
    std::uint64_t all = 0;
    for (const ProcessPart& part : parts) {
        weights[program_name(part.run)] += part.weight;
        all += part.weight;
    }
    for (const auto& [name, weight] : weights)
        if (weight > all / 2) return name;
    return {};
}

}  // namespace

std::string processes_of_run(const std::vector<ProcessPart>& parts) {
    const std::size_t processes = ProcessNames(parts).count();
    if (processes <= 1) return {};
    const std::string first = first_program(parts), most = main_program(parts);
    return first + " and its children" + (most.empty() || most == first ? "" : ", mostly " + most) + ", " +
           std::to_string(processes) + " processes";
}

}  // namespace flameprobe
