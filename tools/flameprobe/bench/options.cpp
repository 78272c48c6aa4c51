#include "options.hpp"

#include <charconv>
#include <cstdlib>
#include <sstream>

#include "command_line.hpp"

namespace flameprobe::bench {

const char* const bench_usage =
    "Usage: flameprobe bench [-o DIR] [--repeat N] FILE.toml\n"
    "       flameprobe bench [OPTIONS] [-o DIR] -- COMMAND [ARGUMENTS]    one scenario without a file\n"
    "Runs programs under load, each several times, and writes DIR/report.html, report.md and report.json. They tell\n"
    "CPU time per unit of work by function, with confidence intervals. An interrupted bench goes on where it was.\n"
    "\n"
    "  flameprobe bench redis.toml                                    the scenarios of a file\n"
    "  flameprobe bench --repeat 10 -e offcpu redis.toml              more runs, and where threads wait\n"
    "  flameprobe bench --load 'wrk http://127.0.0.1:{port}/' --ready-port {port} -- ./server {port}\n"
    "\n"
    "Runs and results\n"
    "  -o, --out DIR         the directory for all results (default results/DATE-COMMIT)\n"
    "  -r, --repeat N        runs of each scenario (default 3)\n"
    "  -F, --freq HZ         samples a second of CPU time, per thread (default 499)\n"
    "  -e, --event LIST      beside cpu: alloc (bytes and allocations per unit), offcpu (where threads wait)\n"
    "      --waiting         the same as adding offcpu\n"
    "      --library FILE    the libflameprobe.so to load\n"
    "\n"
    "A scenario without a file (docs/bench.md describes what these mean in one)\n"
    "  -n, --name NAME       of the scenario\n"
    "  -l, --load COMMAND    puts the program under load; run by sh -c\n"
    "  -w, --work RE         units of work: first group of a regular expression over what the load prints\n"
    "      --count NAME      units of work: what the program gives to FlameProbe::count(NAME, n)\n"
    "      --unit NAME       of work, as in requests\n"
    "      --per SPAN        what the number of --work counts: units per second, minute, hour or run (default)\n"
    "      --ready-port P    ready when this port accepts; {port} is a free one\n"
    "      --ready-line RE   ready when it has printed a line that matches\n"
    "      --ready-url URL   ready when this answers\n"
    "      --within TIME     limit for getting ready (default 30s)\n"
    "      --warm-up TIME    under load, before the measurement\n"
    "      --seconds TIME    how long the load runs (default: until it ends)\n"
    "      --stop SIGNAL     the signal that ends the program (default TERM)\n"
    "      --sweep V=1,2,4   a variable, {V} in commands; may be given several times\n"
    "      --env NAME=VALUE  for program and load\n";

namespace {

/// A number as TOML writes it, else a string in quotes.
std::string toml_value(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc{} && end == text.data() + text.size() && !text.starts_with('.') &&
                           !text.ends_with('.') && (text.size() == 1 || text[0] != '0' || text[1] == '.') &&
                           text.find_first_not_of("-.0123456789") == std::string::npos;
    if (is_number) return text;
    std::string out = "\"";
    for (const char c : text) {
        char code[8];
        if (c == '"' || c == '\\') {
            out += std::string{'\\', c};
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            out += code;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string toml_string(const std::string& text) {
    const std::string value = toml_value(text);
    return value.starts_with('"') ? value : "\"" + value + "\"";
}

/// Turns the options into the text of a bench file, so that there is one parser, and DIR/bench.toml can be used again.
class FileText {
public:
    std::string name = "bench", ready, work, reading, sweeps, environment, rest, load;

    void add_variable(const std::string& variable, const std::string& value) {
        environment += toml_string(variable) + " = " + toml_string(value) + "\n";
    }
    void add_sweep(const std::string& variable, const std::string& text) {
        std::istringstream list(text);
        std::string values;
        for (std::string one; std::getline(list, one, ',');) values += (values.empty() ? "" : ", ") + toml_value(one);
        sweeps += toml_string(variable) + " = [" + values + "]\n";
    }
    void add_line(const char* key, const std::string& value) {
        rest += std::string(key) + " = " + toml_string(value) + "\n";
    }
    static void put(std::string& table, const char* key, const std::string& value) {
        table += (table.empty() ? "" : ", ") + std::string(key) + " = " + toml_string(value);
    }
    std::string text(const std::vector<std::string>& command, unsigned repeat, unsigned frequency,
                     const Events& events) const {
        std::string words;
        for (const std::string& word : command) words += (words.empty() ? "" : ", ") + toml_string(word);
        std::string out = "name = " + toml_string(name) + "\nrepeat = " + std::to_string(repeat) +
                          "\nfrequency = " + std::to_string(frequency) + "\nevent = " + toml_string(events.text()) +
                          "\n";
        if (!environment.empty()) out += "[env]\n" + environment;
        if (!sweeps.empty()) out += "[sweep]\n" + sweeps;
        out += "[[scenario]]\nname = " + toml_string(name) + "\ncommand = [" + words + "]\n" + rest;
        if (!load.empty()) out += "load = [\"sh\", \"-c\", " + toml_string(load) + "]\n";
        if (!ready.empty()) out += "ready = { " + ready + " }\n";
        if (!work.empty()) out += "work = { " + work + " }\n";
        return out;
    }
};

struct Parsed {
    FileText text;
    std::optional<unsigned> repeat, frequency;
    Events events;
    bool for_a_file_only = true;  // no option that describes a scenario
    BenchRequest request;
};

Problem whole_number(const std::string& text, unsigned most, std::optional<unsigned>& into) {
    const auto value = number_in<unsigned>(text);
    if (!value || *value < 1 || *value > most)
        return "'" + text + "' has to be a whole number from 1 to " + std::to_string(most);
    into = *value;
    return {};
}

template <class Add>
Problem pair(const std::string& text, const char* accepted, const Add& add) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
        return "'" + text + "' has to be NAME=" + accepted;
    add(text.substr(0, equals), text.substr(equals + 1));
    return {};
}

using P = Parsed;
using Value = const std::string&;

Problem take_events(P& parsed, Value list) {
    const auto events = parse_events(list);
    if (!events) return "'" + list + "' has to be a list of cpu, offcpu and alloc, with commas between";
    parsed.events = {parsed.events.waits || events->waits, parsed.events.allocations || events->allocations};
    return {};
}

std::vector<CommandOption<P>> known_options() {
    std::vector<CommandOption<P>> options = {
        {"out", required_argument, always([](P& p, Value v) { p.request.out = v; }), 'o'},
        {"repeat", required_argument, [](P& p, Value v) { return whole_number(v, 1000, p.repeat); }, 'r'},
        {"freq", required_argument, [](P& p, Value v) { return whole_number(v, 20000, p.frequency); }, 'F'},
        {"waiting", no_argument, always([](P& p, Value) { p.events.waits = true; })},
        {"event", required_argument, take_events, 'e'},
        {"library", required_argument, always([](P& p, Value v) { p.request.library = v; })},
        {"help", no_argument, always([](P& p, Value) { p.request.help = true; }), 'h'},
    };
    // Options that describe a scenario.
    const auto add = [&options](const char* name, char letter, auto take) {
        options.push_back({name, required_argument,
                           [take](P& p, Value v) -> Problem {
                               p.for_a_file_only = false;
                               return take(p.text, v);
                           },
                           letter});
    };
    const auto into = [&add](const char* name, std::string FileText::*table, const char* key) {
        add(name, 0, always([table, key](FileText& t, Value v) { FileText::put(t.*table, key, v); }));
    };
    add("name", 'n', always([](FileText& t, Value v) { t.name = v; }));
    add("load", 'l', always([](FileText& t, Value v) { t.load = v; }));
    add("work", 'w', always([](FileText& t, Value v) { FileText::put(t.work, "pattern", v); }));
    into("count", &FileText::work, "count");
    into("unit", &FileText::work, "unit");
    into("per", &FileText::work, "per");
    into("ready-port", &FileText::ready, "port");
    into("ready-line", &FileText::ready, "line");
    into("ready-url", &FileText::ready, "url");
    into("within", &FileText::ready, "within");
    add("warm-up", 0, always([](FileText& t, Value v) { t.add_line("warm_up", v); }));
    add("seconds", 0, always([](FileText& t, Value v) { t.add_line("seconds", v); }));
    add("stop", 0, always([](FileText& t, Value v) { t.add_line("stop", v); }));
    add("env", 0, [](FileText& t, Value v) {
        return pair(v, "VALUE", [&t](Value name, Value value) { t.add_variable(name, value); });
    });
    add("sweep", 0, [](FileText& t, Value v) {
        return pair(v, "1,2,4", [&t](Value name, Value values) { t.add_sweep(name, values); });
    });
    return options;
}

}  // namespace

Result<BenchRequest> parse_bench_options(int argc, char* argv[]) {
    Parsed parsed;
    const auto options = known_options();
    const auto first = take_options<Parsed>(argc, argv, options, parsed, true);
    if (!first) return first.error();
    const int at = *first;
    if (parsed.request.help) return parsed.request;
    const bool command = at <= argc && std::string(argv[at - 1]) == "--";
    if (at >= argc) return Error{"name a bench file, or a command after --"};
    std::string path = "options";
    Result<BenchFile> file = Error{""};
    if (command) {
        const std::string text = parsed.text.text({argv + at, argv + argc}, parsed.repeat.value_or(3),
                                                  parsed.frequency.value_or(499), parsed.events);
        file = parse_bench_file(text, path);
    } else {
        path = argv[at];
        // Options may stand behind the file's name too.
        std::vector<char*> behind{argv[0]};
        behind.insert(behind.end(), argv + at + 1, argv + argc + 1);
        const int count = argc - at;
        const auto last = take_options<Parsed>(count, behind.data(), options, parsed, true);
        if (!last) return last.error();
        if (*last < count)
            return Error{std::string(behind[static_cast<std::size_t>(*last)]) +
                         ": one bench file at a time; a command stands after --"};
        if (!parsed.for_a_file_only)
            return Error{
                "with a bench file, scenarios are described in the file (-o, --repeat, --freq, --event, --waiting and "
                "--library go with one)"};
        file = read_bench_file(path);
    }
    if (!file) return file.error();
    parsed.request.file = std::move(*file);
    if (parsed.repeat) parsed.request.file.repeat = *parsed.repeat;
    if (parsed.frequency) parsed.request.file.frequency = *parsed.frequency;
    Events& events = parsed.request.file.events;
    events = {events.waits || parsed.events.waits, events.allocations || parsed.events.allocations};
    return parsed.request;
}

}  // namespace flameprobe::bench
