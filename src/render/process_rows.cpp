#include "render/process_rows.hpp"

#include <algorithm>

#include "render/numbers.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

std::string cell(const std::string& text) {
    std::string xml;
    append_xml(xml, shorten(clean_text(text), 400));
    return "<td>" + xml + "</td>";
}

std::string row(const ProcessShare& process, std::uint64_t all) {
    return "<tr>" + cell(process.name + " " + std::to_string(process.pid)) + cell(duration_text(process.time_ns)) +
           cell(count_text(process.samples)) +
           cell(percent_text(static_cast<double>(process.weight), static_cast<double>(all))) + "</tr>\n";
}

}  // namespace

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
