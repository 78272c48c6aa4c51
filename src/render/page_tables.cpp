#include <algorithm>

#include "render/answer.hpp"
#include "render/describe.hpp"
#include "render/page_parts.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"

namespace flameprobe {
namespace {

constexpr std::size_t most_rows = 50, most_stacks = 5, longest_cell = 600;

std::string cell(std::string_view text) {
    std::string out = "<td>";
    append_xml(out, shorten(clean_text(text), longest_cell));
    return out + "</td>";
}

/// The leaf first, since it is what the holder does.
std::string stack_text(const HolderStack& holder) {
    std::string text = duration_text(holder.ns) + " " + holder.holder + ": ";
    for (auto frame = holder.frames.rbegin(); frame != holder.frames.rend(); ++frame)
        text += (frame == holder.frames.rbegin() ? "" : " < ") + short_name(*frame);
    return std::string(shorten(text, longest_cell));
}

std::string row_markup(const LockRow& row) {
    std::string out = "<tr>" + cell(short_name(row.lock)) + cell(duration_text(row.waited_ns)) +
                      cell(row.waits ? count_text(*row.waits) : "") +
                      cell(row.longest_ns ? duration_text(*row.longest_ns) : "") + "<td>";
    const std::size_t shown = std::min(row.holders.size(), most_stacks);
    for (std::size_t at = 0; at < shown; ++at) {
        if (at != 0) out += "<br>";
        append_xml(out, stack_text(row.holders[at]));
    }
    if (row.holders.size() > shown) out += "<br>and " + count_text(row.holders.size() - shown) + " more stacks";
    return out + "</td></tr>\n";
}

std::string row(const ProcessShare& process, std::uint64_t all) {
    return "<tr>" + cell(process.name + " " + std::to_string(process.pid)) + cell(duration_text(process.time_ns)) +
           cell(count_text(process.samples)) +
           cell(percent_text(static_cast<double>(process.weight), static_cast<double>(all))) + "</tr>\n";
}

}  // namespace

std::string wait_markup(const NamedProfile& profile) {
    const auto reasons = wait_reasons(profile);
    if (reasons.empty()) return {};
    std::string out =
        "<details class=\"facts waits\"><summary>What the threads waited for</summary><table>\n"
        "<tr><th>share</th><th>time</th><th></th></tr>\n";
    for (const WaitReason& one : reasons)
        out += "<tr>" + cell(one.share) + cell(duration_text(one.ns)) + cell(one.sentence) + "</tr>\n";
    return out + "</table></details>";
}

std::string lock_markup(const NamedProfile& profile) {
    const auto rows = lock_table(profile);
    if (rows.empty()) return {};
    std::string out =
        "<details class=\"facts locks\"><summary>Locks</summary><table>\n<tr><th>lock</th><th>waited for</th>"
        "<th>waits</th><th>longest</th><th>held by, the longest first; what the holder did</th></tr>\n";
    for (std::size_t at = 0; at < std::min(rows.size(), most_rows); ++at) out += row_markup(rows[at]);
    return out + "</table></details>";
}

std::string process_rows(const NamedProfile& profile) {
    constexpr std::size_t most = 100;
    const auto& processes = profile.shares;
    if (processes.size() < 2) return {};
    std::uint64_t all = 0;
    for (const ProcessShare& process : processes) all += process.weight;
    std::string out = "<table><tr><th>Process</th><th>Time</th><th>Samples</th><th>Share</th></tr>\n";
    for (std::size_t i = 0; i < std::min(most, processes.size()); ++i) out += row(processes[i], all);
    if (processes.size() > most) {
        ProcessShare rest{.name = "others:"};
        rest.pid = static_cast<std::uint32_t>(processes.size() - most);
        for (auto one = processes.begin() + most; one != processes.end(); ++one) {
            rest.time_ns += one->time_ns;
            rest.weight += one->weight;
            rest.samples += one->samples;
        }
        out += row(rest, all);
    }
    return out + "</table>\n";
}

}  // namespace flameprobe
