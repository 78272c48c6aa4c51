#include "bench_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <regex>
#include <sstream>

#include "base/descriptor.hpp"
#include "profile/model.hpp"

namespace flameprobe::bench {

std::optional<int> parse_signal(const std::string& text) {
    const std::string name = text.starts_with("SIG") ? text.substr(3) : text;
    for (int signal = 1; signal < 32; ++signal) {
        const char* known = sigabbrev_np(signal);
        if (name == std::to_string(signal) || (known != nullptr && name == known)) return signal;
    }
    return std::nullopt;
}

std::string pattern_problem(const std::string& pattern, bool group) try {
    const std::regex compiled(pattern);
    if (group && compiled.mark_count() == 0)
        return "the pattern '" + pattern + "' has no group: put the number in parentheses, as in ([0-9.]+)";
    return {};
} catch (const std::regex_error& error) {
    return "'" + pattern + "' is no regular expression (ECMAScript): " + error.what();
}

std::string placeholder_problem(const Scenario& scenario) {
    std::set<std::string> known = known_placeholders();
    for (const auto& [name, values] : scenario.sweep) known.insert(name);
    std::string accepted;
    for (const std::string& name : known) accepted += (accepted.empty() ? "{" : ", {") + name + "}";
    std::vector<std::string> texts = scenario.command;
    texts.insert(texts.end(), scenario.load.begin(), scenario.load.end());
    for (const auto& [name, value] : scenario.environment) texts.push_back(value);
    for (const std::string& text : {scenario.ready.port, scenario.ready.url, scenario.directory}) texts.push_back(text);
    for (const std::string& text : texts) {
        for (const std::string& name : placeholders_in(text)) {
            if (!known.contains(name))
                return "'{" + name + "}' is no variable; accepted: " + accepted + "; {{" + name +
                       "}} stands for itself";
        }
    }
    return {};
}

Result<BenchFile> read_bench_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    for (char piece[4096];;) {
        const ssize_t size = file ? ::read(file.get(), piece, sizeof piece) : -1;
        if (size < 0) return Error{path + ": cannot be read: " + error_text(errno)};
        if (size == 0) return parse_bench_file(text, path);
        text.append(piece, static_cast<std::size_t>(size));
    }
}

std::string Events::text() const {
    return std::string("cpu") + (waits ? ",offcpu" : "") + (allocations ? ",alloc" : "");
}

std::optional<Events> parse_events(const std::string& text) {
    Events events;
    std::istringstream list(text);
    for (std::string name; std::getline(list, name, ',');) {
        if (name == event_name::offcpu)
            events.waits = true;
        else if (name == event_name::alloc)
            events.allocations = true;
        else if (name != event_name::cpu)
            return std::nullopt;
    }
    return events;
}

namespace {

bool in_name(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

/// The end of the name that begins at `begin`.
std::size_t name_end(const std::string& text, std::size_t begin) {
    std::size_t end = begin;
    while (end < text.size() && in_name(text[end], end == begin)) ++end;
    return end;
}

std::string replace(const std::string& text, const std::function<std::string(const std::string& name)>& value) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const bool literal = text.compare(i, 2, "{{") == 0;
        const std::size_t begin = i + (literal ? 2 : 1), end = text[i] == '{' ? name_end(text, begin) : begin;
        const char* close = literal ? "}}" : "}";
        if (text[i] != '{' || end == begin || text.compare(end, literal ? 2 : 1, close) != 0) {
            out += text[i++];
            continue;
        }
        const std::string name = text.substr(begin, end - begin);
        out += literal ? "{" + name + "}" : value(name);
        i = end + (literal ? 2 : 1);
    }
    return out;
}

}  // namespace

std::vector<std::string> placeholders_in(const std::string& text) {
    std::vector<std::string> names;
    replace(text, [&names](const std::string& name) {
        names.push_back(name);
        return std::string();
    });
    return names;
}

std::string fill_in(const std::string& text, const std::map<std::string, std::string>& values) {
    return replace(text, [&values](const std::string& name) {
        const auto found = values.find(name);
        return found == values.end() ? "{" + name + "}" : found->second;
    });
}

const std::set<std::string>& known_placeholders() {
    static const std::set<std::string> names = {"port", "seconds", "repetition", "directory"};
    return names;
}

namespace {

std::string file_name(const std::string& text) {
    std::string name;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        const bool mark = std::strchr("-_=,+.", c) != nullptr && c != '\0' && !(c == '.' && name.empty());
        // Other characters are written by their code, so that different names stay different.
        constexpr char digits[] = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        name += plain || mark ? std::string(1, c) : std::string{'~', digits[byte >> 4], digits[byte & 15]};
    }
    return name;
}

}  // namespace

std::string title_of(const std::string& scenario, const SweepValues& sweep) {
    std::string text = scenario;
    for (const auto& [name, value] : sweep) text += " " + name + "=" + value.text;
    return text;
}

std::string Point::path() const {
    std::string values;
    for (const auto& [name, value] : sweep) values += (values.empty() ? "" : ",") + name + "=" + value.text;
    return file_name(scenario->name) + "/" + (values.empty() ? "all" : file_name(values));
}

std::vector<Point> points_of(const BenchFile& file) {
    std::vector<Point> points;
    for (const Scenario& scenario : file.scenarios) {
        std::vector<Point> some{{&scenario, {}}};
        for (const auto& [name, values] : scenario.sweep) {
            std::vector<Point> more;
            for (const Point& point : some) {
                for (const SweepValue& value : values) {
                    more.push_back(point);
                    more.back().sweep[name] = value;
                }
            }
            some = std::move(more);
        }
        points.insert(points.end(), some.begin(), some.end());
    }
    return points;
}

std::vector<PlannedRun> plan_of(std::size_t points, unsigned repeat) {
    std::vector<PlannedRun> plan;
    for (unsigned repetition = 1; repetition <= repeat; ++repetition) {
        for (std::size_t i = 0; i < points; ++i) plan.push_back({repetition % 2 == 1 ? i : points - 1 - i, repetition});
    }
    return plan;
}

}  // namespace flameprobe::bench
