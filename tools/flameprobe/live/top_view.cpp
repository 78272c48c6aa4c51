#include "top_view.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/number.hpp"
#include "export/text.hpp"
#include "outside/counters.hpp"
#include "render/answer.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/run_facts.hpp"
#include "render/table_rows.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

std::string right(const std::string& text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    return right(fixed_text(whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole), 1), 6);
}

struct Sum {
    std::string name;
    std::uint64_t weight = 0;
};

std::vector<Sum> heaviest(const std::map<std::string, std::uint64_t>& sums, std::size_t most) {
    std::vector<Sum> list;
    for (const auto& [name, weight] : sums) list.push_back({name, weight});
    std::stable_sort(list.begin(), list.end(), [](const Sum& a, const Sum& b) { return a.weight > b.weight; });
    if (list.size() > most) list.resize(most);
    return list;
}

std::vector<Sum> threads_of(const NamedProfile& profile, std::size_t most) {
    std::map<std::string, std::uint64_t> sums;
    for (const NamedCount& count : profile.counts) {
        if (count.thread >= profile.threads.size() || count.weight == 0) continue;
        const Thread& thread = profile.threads[count.thread];
        sums[thread.name + " (" + std::to_string(thread.tid) + ")"] += count.weight;
    }
    return heaviest(sums, most);
}

std::vector<Sum> scopes_of(const NamedProfile& profile, const Totals& totals, std::size_t most) {
    std::map<std::string, std::uint64_t> sums;
    for (const FunctionTotal& total : totals.functions) {
        const Function& function = profile.functions[total.function];
        if (function.kind == FrameKind::scope) sums[std::string(profile.strings.view(function.name))] += total.total;
    }
    return heaviest(sums, most);
}

constexpr std::size_t part_columns = 19;  // "14 min 16 s    72.8"

constexpr std::string_view between_frames = " < ";

/// Frames in lines of at most `room` columns; what does not fit into `most` lines is left out.
std::vector<std::string> wrapped(const std::vector<std::string>& frames, std::size_t room, std::size_t most) {
    std::vector<std::string> lines(1);
    for (const std::string& frame : frames) {
        const std::string next = (&frame == &frames.front() ? "" : std::string(between_frames)) + frame;
        if (!lines.back().empty() && columns(lines.back()) + columns(next) > room) {
            if (lines.size() == most) return lines.back() += " …", lines;
            lines.emplace_back();
        }
        lines.back() += next;
    }
    return lines;
}

/// "name (tid) waits for ...": the tid, or 0.
std::uint32_t tid_in(std::string_view sentence) {
    const std::size_t end = sentence.find(") waits for the lock"), begin = sentence.substr(0, end).rfind('(');
    if (end == sentence.npos || begin == sentence.npos) return 0;
    return number_in<std::uint32_t>(sentence.substr(begin + 1, end - begin - 1)).value_or(0);
}

class View {
public:
    View(const NamedProfile& profile, const TopOptions& options)
        : profile_(profile), options_(options), totals_(function_totals(profile)) {}

    std::vector<TopLine> lines() {
        const RunInfo& run = profile_.run;
        const std::string measured = measured_text(profile_, totals_.samples);
        add(LineKind::title, program_name(run) + " (pid " + std::to_string(run.pid) + ")  " + options_.window + "  " +
                                 measured + (measured.empty() ? "" : ", ") + samples_text(total_hits(profile_)) +
                                 (options_.running ? "" : "  ended"));
        const auto stacks = deadlocked_stacks(profile_);
        for (const std::string& deadlock : deadlocks(profile_.summary.counters)) add_deadlock(deadlock, stacks);
        if (const std::string sentence = answer(profile_); !sentence.empty()) add(LineKind::text, sentence);
        const std::size_t part = std::max<std::size_t>(options_.rows / 6, 1);
        list("THREAD", threads_of(profile_, part));
        list("SCOPE", scopes_of(profile_, totals_, part));
        functions();
        return std::move(lines_);
    }

private:
    void add(LineKind kind, const std::string& text) {
        if (lines_.size() < options_.rows) lines_.push_back({kind, fit_columns(clean_text(text), options_.columns)});
    }
    /// A line for each of its threads, and below it where that waits.
    void add_deadlock(std::string_view sentence, const std::map<std::uint32_t, std::vector<std::string>>& stacks) {
        constexpr std::string_view between = ", ";
        constexpr std::size_t most_lines = 3;
        const std::string indent(deadlock_begin.size(), ' ');
        for (std::string begin; !sentence.empty(); begin = indent) {
            const std::string_view of_thread = sentence.substr(0, sentence.find(between));
            add(LineKind::heading, begin + std::string(of_thread));
            if (const auto stack = stacks.find(tid_in(of_thread)); stack != stacks.end())
                for (const std::string& line :
                     wrapped(stack->second, options_.columns - std::min(options_.columns, indent.size()), most_lines))
                    add(LineKind::text, indent + line);
            sentence.remove_prefix(std::min(of_thread.size() + between.size(), sentence.size()));
        }
    }
    /// Time, and its share.
    std::string part(std::uint64_t weight) const {
        const std::string time = unit_text(profile_, weight);
        const std::string text = time + "  " + share(weight, totals_.samples);
        return std::string(part_columns - std::min(columns(text), part_columns), ' ') + text;
    }
    /// Behind two parts. Where there is no room for both, the end of the name stays, which tells most.
    std::string in_room(const std::string& name, const std::string& module) const {
        constexpr std::size_t before = 2 * (part_columns + 2);
        const std::size_t room = options_.columns - std::min(options_.columns, before);
        return columns(name + module) <= room ? name + module : fit_name(name, room);
    }
    void list(const std::string& what, const std::vector<Sum>& sums) {
        if (sums.empty()) return;
        add(LineKind::heading, right("total", part_columns) + "  " + what);
        for (const Sum& sum : sums) add(LineKind::text, part(sum.weight) + "  " + sum.name);
    }
    void functions() {
        FunctionTable table = table_rows(profile_, options_.by_total);
        auto& rows = table.rows;
        std::erase_if(
            rows, [&](const TableRow& row) { return profile_.functions[row.total.function].kind == FrameKind::scope; });
        if (const std::string rest = rest_text(table); !rest.empty()) add(LineKind::text, rest);
        const bool by_total = options_.by_total;
        add(LineKind::heading, right(by_total ? "self" : "self*", part_columns) +
                                   right(by_total ? "total*" : "total", part_columns + 2) + "  FUNCTION");
        for (std::size_t at = options_.first; at < rows.size(); ++at) {
            const FunctionTotal& row = rows[at].total;
            const FunctionId id = row.function;
            const bool folded = !rows[at].call.empty();
            const std::string module = folded ? "" : file_of(profile_, id);
            const std::string_view mark = profile_.functions[id].kind == FrameKind::held ? "_[w]" : "";  // as elsewhere
            const std::string name = folded ? rows[at].call : clean_text(short_name(profile_, id)).append(mark);
            add(LineKind::text,
                part(row.self) + "  " + part(row.total) + "  " + in_room(name, module.empty() ? "" : "  " + module));
        }
    }

    const NamedProfile& profile_;
    const TopOptions& options_;
    Totals totals_;
    std::vector<TopLine> lines_;
};

}  // namespace

std::vector<TopLine> top_view(const NamedProfile& profile, const TopOptions& options) {
    return View(profile, options).lines();
}

}  // namespace flameprobe
