#include <algorithm>
#include <initializer_list>

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

/// A table that a click opens; empty without rows.
std::string details(const std::string& kind, const std::string& title, std::initializer_list<std::string_view> heads,
                    const std::string& rows) {
    if (rows.empty()) return {};
    std::string out = "<details class=\"facts " + kind + "\"><summary>" + title + "</summary><table>\n<tr>";
    for (const std::string_view head : heads) out.append("<th>").append(head).append("</th>");
    return out + "</tr>\n" + rows + "</table></details>";
}

}  // namespace

std::string wait_markup(const NamedProfile& profile) {
    std::string rows;
    for (const WaitReason& one : wait_reasons(profile))
        rows += "<tr>" + cell(one.share) + cell(duration_text(one.ns)) + cell(one.sentence) + "</tr>\n";
    return details("waits", "What the threads waited for", {"share", "time", ""}, rows);
}

std::string lock_markup(const NamedProfile& profile) {
    const auto locks = lock_table(profile);
    std::string rows;
    for (std::size_t at = 0; at < std::min(locks.size(), most_rows); ++at) rows += row_markup(locks[at]);
    return details("locks", "Locks",
                   {"lock", "waited for", "waits", "longest", "held by, the longest first; what the holder did"}, rows);
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
