#include <cstdint>
#include <vector>

#include "base/binary_text.hpp"
#include "export/text.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/request_rows.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"
#include "symbolize/named_profile.hpp"
#include "tables.hpp"

namespace flameprobe {

namespace {

std::string line(const std::string& label, const std::string& value) {
    const std::size_t width = 12;
    return label + ":" + std::string(label.size() < width ? width - label.size() : 1, ' ') + one_line(value) + "\n";
}

std::string thread_lines(const NamedProfile& profile) {
    std::vector<std::uint64_t> weight(profile.threads.size()), hits(profile.threads.size());
    for (const NamedCount& count : profile.counts) {
        if (count.thread >= weight.size()) continue;
        weight[count.thread] = add_saturated(weight[count.thread], count.weight);
        hits[count.thread] = add_saturated(hits[count.thread], count.hits);
    }
    std::vector<std::uint64_t> cpu(profile.threads.size());
    for (const ThreadAccount& account : profile.summary.threads) {
        if (account.thread < cpu.size()) cpu[account.thread] = account.cpu_ns;
    }
    std::string out;
    for (ThreadId id = 0; id < profile.threads.size(); ++id) {
        const Thread& thread = profile.threads[id];
        std::string text = thread.name;
        if (thread.tid != 0) text += " (" + std::to_string(thread.tid) + ")";
        const bool waits = counts_waiting(profile.run);
        text += ": ";
        if (waits) text += duration_text(weight[id]);
        if (cpu[id] > 0) text += std::string(waits ? ", " : "") + duration_text(cpu[id]) + " of CPU time";
        if (cpu[id] > 0 && weighs_nanoseconds(profile.run) && !waits)
            text += " (" + percent_text(static_cast<double>(weight[id]), static_cast<double>(cpu[id])) + " covered)";
        if (!waits) text += (cpu[id] > 0 ? ", " : "") + samples_text(hits[id]);
        out += line("Thread", text);
    }
    return out;
}

std::string weight_line(const NamedProfile& profile) {
    const std::uint64_t weight = total_weight(profile), hits = total_hits(profile);
    const bool whole = !profile.has_run || hits == profile.summary.hits;
    std::string text = unit_text(profile, weight);
    if (text.empty() || !counts_waiting(profile.run)) text += (text.empty() ? "" : ", ") + samples_text(hits);
    return line(whole ? "Weight" : "Selected", text + " in " + count_text(profile.counts.size()) + " distinct stacks");
}

std::string work_text(const NamedProfile& profile, const std::string& name, std::uint64_t amount) {
    std::string text = name + " " + count_text(amount);
    if (const auto cost = sampled_ns_per_unit(profile, amount))
        text += ", " + duration_text(static_cast<std::uint64_t>(*cost + 0.5)) + " of sampled CPU time each";
    return text;
}

std::string file_lines(const NamedProfile& profile) {
    std::string out;
    for (const FileBuild& file : file_builds(profile)) {
        out += line("File",
                    file.path + (file.build_id.empty() ? ", no build id" : ", build id " + hex_text(file.build_id)));
    }
    return out;
}

}  // namespace

std::string info_text(const NamedProfile& profile) {
    std::string out;
    if (!profile.has_run) out += line("Input", "nothing is known about the run");
    for (const Fact& fact : run_facts(profile)) out += line(fact.label, fact.value);
    for (const RunFact& fact : profile.run.facts) out += line(fact.name, fact.value);
    for (const RunFact& label : profile.run.labels) out += line("Label", label.name + "=" + label.value);
    out += weight_line(profile);
    for (const auto& [name, amount] : profile.work) out += line("Counted", work_text(profile, name, amount));
    for (const RequestRow& row : request_rows(profile)) out += line("Request " + row.label, request_text(row));
    for (const auto& [name, value] : profile.summary.counters) {
        if (!name.starts_with(counter::note)) out += line("Counter", name + " " + count_text(value));
    }
    return out + thread_lines(profile) + file_lines(profile);
}

}  // namespace flameprobe
