// From TOML to a BenchFile; errors have their line. The only file that uses toml++.
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <cmath>
#include <set>

#include "arguments.hpp"
#include "bench_file.hpp"

namespace flameprobe::bench {

namespace {

/// Thrown in this file only: parse_bench_file() turns it into an Error.
struct Bad {
    std::string message;
    toml::source_region where;
};

[[noreturn]] void bad(const std::string& message, const toml::node& node) { throw Bad{message, node.source()}; }

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string number_text(double number) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    out.precision(12);
    out << number;
    return out.str();
}

/// A table without unknown keys; the functions below read them.
class TomlTable {
public:
    TomlTable(const toml::table& table, std::string what, const std::vector<std::string_view>& accepted)
        : table_(table), what_(std::move(what)) {
        std::string list;
        for (const std::string_view key : accepted) list += (list.empty() ? "" : ", ") + std::string(key);
        const std::set<std::string_view> known(accepted.begin(), accepted.end());
        for (const auto& [key, node] : table) {
            if (!known.contains(key.str()))
                throw Bad{what_ + " has no " + in_quotes(key.str()) + "; accepted: " + list, key.source()};
        }
    }

    const toml::node* find(std::string_view key) const { return table_.get(key); }
    const toml::node& node() const { return table_; }

    std::string text(std::string_view key, std::string otherwise = {}) const {
        const toml::node* node = find(key);
        if (node == nullptr) return otherwise;
        if (const auto value = node->value_exact<std::string>()) return *value;
        if (const auto value = node->value_exact<std::int64_t>()) return std::to_string(*value);
        bad(in_quotes(key) + " has to be a string", *node);
    }
    std::string pattern(std::string_view key, bool group) const {
        std::string value = text(key);
        if (value.empty()) return value;
        if (const std::string problem = pattern_problem(value, group); !problem.empty()) bad(problem, *find(key));
        return value;
    }
    std::vector<std::string> words(std::string_view key) const {
        const toml::node* node = find(key);
        if (node == nullptr) return {};
        const toml::array* array = node->as_array();
        const std::string wanted =
            in_quotes(key) + R"( has to be a list of strings, as in ["redis-server", "--port", "{port}"])";
        if (array == nullptr || array->empty()) bad(wanted, *node);
        std::vector<std::string> list;
        for (const toml::node& item : *array) {
            if (const auto value = item.value_exact<std::string>()) {
                list.push_back(*value);
            } else if (const auto number = item.value_exact<std::int64_t>()) {
                list.push_back(std::to_string(*number));
            } else {
                bad(wanted, item);
            }
        }
        return list;
    }
    unsigned number(std::string_view key, unsigned otherwise, unsigned least, unsigned most) const {
        const toml::node* node = find(key);
        if (node == nullptr) return otherwise;
        const auto value = node->value_exact<std::int64_t>();
        if (!value || *value < least || *value > most)
            bad(in_quotes(key) + " has to be a whole number from " + std::to_string(least) + " to " +
                    std::to_string(most),
                *node);
        return static_cast<unsigned>(*value);
    }
    bool truth(std::string_view key) const {
        const toml::node* node = find(key);
        if (node == nullptr) return false;
        const auto value = node->value_exact<bool>();
        if (!value) bad(in_quotes(key) + " has to be true or false", *node);
        return *value;
    }
    Seconds duration(std::string_view key, Seconds otherwise) const {
        const toml::node* node = find(key);
        if (node == nullptr) return otherwise;
        const auto ns = parse_time(node->is_number() ? number_text(*node->value<double>())
                                                     : node->value_exact<std::string>().value_or(""));
        if (!ns) bad(in_quotes(key) + R"( has to be a time, as in "10s", "500ms", "2m" or a number of seconds)", *node);
        return std::chrono::nanoseconds(*ns);
    }
    const toml::table* table(std::string_view key) const {
        const toml::node* node = find(key);
        if (node == nullptr) return nullptr;
        if (node->as_table() == nullptr) bad(in_quotes(key) + " has to be a table", *node);
        return node->as_table();
    }

private:
    const toml::table& table_;
    const std::string what_;
};

SweepValue sweep_value(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) return {*text, std::nullopt};
    if (const auto truth = node.value_exact<bool>()) return {*truth ? "true" : "false", std::nullopt};
    if (const auto number = node.value_exact<std::int64_t>())
        return {std::to_string(*number), static_cast<double>(*number)};
    if (const auto number = node.value_exact<double>(); number && std::isfinite(*number))
        return {number_text(*number), *number};
    bad("a variable that sweeps has a list of numbers, strings or booleans, as in workers = [1, 2, 4, 8]", node);
}

Sweep read_sweep(const toml::table* table, Sweep sweep) {
    if (table == nullptr) return sweep;
    for (const auto& [key, node] : *table) {
        std::vector<SweepValue> values;
        const toml::array* array = node.as_array();
        if (array == nullptr || array->empty())
            bad(in_quotes(key.str()) + " has to be a list that is not empty, as in workers = [1, 2, 4, 8]", node);
        for (const toml::node& item : *array) {
            values.push_back(sweep_value(item));
            for (std::size_t i = 0; i + 1 < values.size(); ++i) {
                if (values[i].text == values.back().text)
                    bad(in_quotes(key.str()) + " has the value " + values.back().text + " twice; say repeat = 2", item);
            }
        }
        sweep[std::string(key.str())] = std::move(values);
    }
    return sweep;
}

/// Each combination is a run or more, and they are planned before the first one.
void check_size_of(const Sweep& sweep, const toml::node& where) {
    constexpr std::size_t most = 10'000;
    std::size_t points = 1;
    for (const auto& [name, values] : sweep) {
        points = points > most ? points : points * values.size();
    }
    if (points > most) bad("the sweep has more than 10,000 combinations of its values", where);
}

void read_environment(const toml::table* table, std::map<std::string, std::string>& environment) {
    if (table == nullptr) return;
    for (const auto& [key, node] : *table) environment[std::string(key.str())] = sweep_value(node).text;
}

Ready read_ready(const toml::table* table) {
    Ready ready;
    if (table == nullptr) return ready;
    const TomlTable fields(*table, "'ready'", {"port", "line", "url", "after", "within"});
    ready.port = fields.text("port");
    ready.line = fields.pattern("line", false);
    ready.url = fields.text("url");
    if (!ready.url.empty() && !ready.url.starts_with("http://"))
        bad("'url' has to begin with http:// (for others: a port, or a line that the program prints)",
            *fields.find("url"));
    ready.after = fields.duration("after", ready.after);
    ready.within = fields.duration("within", ready.within);
    return ready;
}

Reading read_reading(const toml::table* table, const std::string& what, const std::string& unit) {
    Reading reading;
    if (table == nullptr) return reading;
    const bool may_count = what == "work";
    const TomlTable fields(*table, "'" + what + "'",
                           may_count ? std::vector<std::string_view>{"pattern", "count", "unit", "per"}
                                     : std::vector<std::string_view>{"pattern", "unit", "per"});
    reading.pattern = fields.pattern("pattern", true);
    if (may_count) reading.count = fields.text("count");
    if (reading.pattern.empty() == reading.count.empty())
        bad("'" + what + "' needs a 'pattern' with a group, as in \"([0-9.]+) requests\"" +
                (may_count ? ", or a 'count', the name that the program gives to FlameProbe::count" : ""),
            *table);
    reading.unit = fields.text("unit", reading.count.empty() ? unit : reading.count);
    const std::string per = fields.text("per", "run");
    if (!reading.count.empty() && fields.find("per") != nullptr)
        bad("'per' has no meaning beside 'count', which is of the load's time", *fields.find("per"));
    const std::map<std::string, double> spans = {{"run", 0}, {"second", 1}, {"minute", 60}, {"hour", 3600}};
    const auto span = spans.find(per);
    if (span == spans.end())
        bad("'per' is " + in_quotes(per) + "; accepted: second, minute, hour, run", *fields.find("per"));
    reading.seconds = span->second;
    return reading;
}

Scenario read_scenario(const toml::table& table, const Scenario& defaults, std::size_t number) {
    const TomlTable fields(table, "a scenario",
                           {"name", "command", "load", "env", "directory", "ready", "work", "latency", "stop",
                            "stop_within", "warm_up", "seconds", "timeout", "sweep"});
    Scenario scenario = defaults;
    scenario.name = fields.text("name", "scenario " + std::to_string(number));
    scenario.command = fields.words("command");
    if (scenario.command.empty())
        bad("a scenario needs a 'command', the program that is profiled: command = [\"./server\", \"--port\", "
            "\"{port}\"]",
            table);
    scenario.load = fields.words("load");
    read_environment(fields.table("env"), scenario.environment);
    scenario.directory = fields.text("directory");
    scenario.ready = read_ready(fields.table("ready"));
    scenario.work = read_reading(fields.table("work"), "work", "units");
    scenario.latency = read_reading(fields.table("latency"), "latency", "ms");
    const std::string stop = fields.text("stop", "TERM");
    const auto signal = parse_signal(stop);
    if (!signal)
        bad("'stop' is " + in_quotes(stop) + "; accepted: a signal's name, as in TERM, INT, QUIT",
            *fields.find("stop"));
    scenario.stop_signal = *signal;
    scenario.stop_within = fields.duration("stop_within", defaults.stop_within);
    scenario.warm_up = fields.duration("warm_up", defaults.warm_up);
    scenario.seconds = fields.duration("seconds", defaults.seconds);
    scenario.timeout = fields.duration("timeout", defaults.timeout);
    scenario.sweep = read_sweep(fields.table("sweep"), defaults.sweep);
    check_size_of(scenario.sweep, table);
    if (const std::string problem = placeholder_problem(scenario); !problem.empty())
        bad("scenario " + in_quotes(scenario.name) + ": " + problem,
            fields.find("command") ? *fields.find("command") : table);
    return scenario;
}

BenchFile read_file(const toml::table& table) {
    const TomlTable fields(table, "a bench file",
                           {"name", "repeat", "frequency", "event", "waiting", "warm_up", "seconds", "timeout",
                            "stop_within", "env", "sweep", "scenario"});
    BenchFile file;
    file.name = fields.text("name", "bench");
    file.repeat = fields.number("repeat", file.repeat, 1, 1000);
    file.frequency = fields.number("frequency", file.frequency, 1, 20000);
    if (const auto events = parse_events(fields.text("event", "cpu")))
        file.events = *events;
    else
        bad("'event' is a list of cpu, offcpu and alloc, with commas between", *fields.find("event"));
    if (fields.truth("waiting")) file.events.waits = true;
    Scenario defaults;
    defaults.warm_up = fields.duration("warm_up", defaults.warm_up);
    defaults.seconds = fields.duration("seconds", defaults.seconds);
    defaults.timeout = fields.duration("timeout", defaults.timeout);
    defaults.stop_within = fields.duration("stop_within", defaults.stop_within);
    read_environment(fields.table("env"), defaults.environment);
    defaults.sweep = read_sweep(fields.table("sweep"), {});
    const toml::node* scenarios = fields.find("scenario");
    const toml::array* list = scenarios == nullptr ? nullptr : scenarios->as_array();
    if (list == nullptr || list->empty())
        bad("there is no [[scenario]] in it", scenarios == nullptr ? table : *scenarios);
    std::set<std::string> names;
    for (const toml::node& node : *list) {
        if (node.as_table() == nullptr) bad("a scenario is a table: [[scenario]]", node);
        file.scenarios.push_back(read_scenario(*node.as_table(), defaults, file.scenarios.size() + 1));
        if (!names.insert(file.scenarios.back().name).second)
            bad("two scenarios are called " + in_quotes(file.scenarios.back().name), node);
    }
    return file;
}

std::string place(const std::string& path, const toml::source_region& where) {
    return path + ":" + std::to_string(std::max<unsigned>(1, where.begin.line)) + ": ";
}

}  // namespace

Result<BenchFile> parse_bench_file(const std::string& text, const std::string& path) try {
    BenchFile file = read_file(toml::parse(text));
    file.text = text;
    return file;
} catch (const toml::parse_error& error) {
    return Error{place(path, error.source()) + "not TOML: " + std::string(error.description())};
} catch (const Bad& error) {
    return Error{place(path, error.where) + error.message};
}

}  // namespace flameprobe::bench
