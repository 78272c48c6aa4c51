#include "options.hpp"

#include <getopt.h>

#include <charconv>
#include <cstdlib>
#include <sstream>

namespace flameprobe::bench {

const char* const bench_usage =
    "Usage: flameprobe bench [-o DIR] [--repeat N] FILE.toml\n"
    "       flameprobe bench [OPTIONS] [-o DIR] -- COMMAND [ARGUMENTS]    one scenario without a file\n"
    "Runs programs under load, each several times, and writes DIR/report.html, report.md and report.json: CPU time "
    "per\n"
    "unit of work by function, with confidence intervals. An interrupted bench goes on where it was.\n"
    "\n"
    "  -o, --out DIR         where everything is kept (default results/DATE-COMMIT)\n"
    "  -r, --repeat N        runs of each scenario (default 3)\n"
    "  -F, --freq HZ         samples a second of CPU time, per thread (default 499)\n"
    "      --waiting         where threads wait, too\n"
    "      --library FILE    the libflameprobe.so to load\n"
    "\n"
    "Without a file (docs/bench.md describes what these mean in one):\n"
    "  -n, --name NAME       of the scenario\n"
    "  -l, --load COMMAND    puts the program under load; run by sh -c\n"
    "  -w, --work RE         units of work: first group of a regular expression over what the load prints\n"
    "      --count NAME      units of work: what the program gives to FlameProbe::count(NAME, n)\n"
    "      --unit NAME       of work, as in requests\n"
    "      --per SPAN        second, minute, hour, run (default): what the number of --work is for\n"
    "      --ready-port P    ready when this port accepts; {port} is a free one\n"
    "      --ready-line RE   ready when it has printed a line that matches\n"
    "      --ready-url URL   ready when this answers\n"
    "      --within TIME     for getting ready (default 30s)\n"
    "      --warm-up TIME    under load, before it is measured\n"
    "      --seconds TIME    how long the load is let run (default: until it ends)\n"
    "      --stop SIGNAL     that ends the program (default TERM)\n"
    "      --sweep V=1,2,4   a variable, {V} in commands; may be given several times\n"
    "      --env NAME=VALUE  for program and load\n";

namespace {

enum Letter : int {
    library = 256,
    waiting,
    count,
    unit,
    per,
    ready_port,
    ready_line,
    ready_url,
    within,
    warm_up,
    seconds,
    stop,
    sweep,
    env
};

constexpr option long_options[] = {{"out", required_argument, nullptr, 'o'},
                                   {"repeat", required_argument, nullptr, 'r'},
                                   {"freq", required_argument, nullptr, 'F'},
                                   {"waiting", no_argument, nullptr, waiting},
                                   {"library", required_argument, nullptr, library},
                                   {"name", required_argument, nullptr, 'n'},
                                   {"load", required_argument, nullptr, 'l'},
                                   {"work", required_argument, nullptr, 'w'},
                                   {"count", required_argument, nullptr, count},
                                   {"unit", required_argument, nullptr, unit},
                                   {"per", required_argument, nullptr, per},
                                   {"ready-port", required_argument, nullptr, ready_port},
                                   {"ready-line", required_argument, nullptr, ready_line},
                                   {"ready-url", required_argument, nullptr, ready_url},
                                   {"within", required_argument, nullptr, within},
                                   {"warm-up", required_argument, nullptr, warm_up},
                                   {"seconds", required_argument, nullptr, seconds},
                                   {"stop", required_argument, nullptr, stop},
                                   {"sweep", required_argument, nullptr, sweep},
                                   {"env", required_argument, nullptr, env},
                                   {"help", no_argument, nullptr, 'h'},
                                   {nullptr, 0, nullptr, 0}};

Result<unsigned> whole_number(const std::string& option, const std::string& text, unsigned most) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > most)
        return Error{option + " " + text + ": has to be a whole number from 1 to " + std::to_string(most)};
    return value;
}

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

/// The options become the text of a bench file, so that there is one way to read them, and DIR/bench.toml can be used
/// again.
class FileText {
public:
    std::string name = "bench", ready, work, reading, sweeps, environment, rest, load;

    Result<void> add(int letter, const std::string& value) {
        switch (letter) {
            case 'n':
                name = value;
                break;
            case 'l':
                load = value;
                break;
            case 'w':
                put(work, "pattern", value);
                break;
            case count:
                put(work, "count", value);
                break;
            case unit:
                put(work, "unit", value);
                break;
            case per:
                put(work, "per", value);
                break;
            case ready_port:
                put(ready, "port", value);
                break;
            case ready_line:
                put(ready, "line", value);
                break;
            case ready_url:
                put(ready, "url", value);
                break;
            case within:
                put(ready, "within", value);
                break;
            case warm_up:
                rest += "warm_up = " + toml_string(value) + "\n";
                break;
            case seconds:
                rest += "seconds = " + toml_string(value) + "\n";
                break;
            case stop:
                rest += "stop = " + toml_string(value) + "\n";
                break;
            case env:
                return add_pair("--env", value, [this](const std::string& key, const std::string& text) {
                    environment += toml_string(key) + " = " + toml_string(text) + "\n";
                });
            case sweep:
                return add_pair("--sweep", value, [this](const std::string& key, const std::string& text) {
                    std::istringstream list(text);
                    std::string values;
                    for (std::string one; std::getline(list, one, ',');)
                        values += (values.empty() ? "" : ", ") + toml_value(one);
                    sweeps += toml_string(key) + " = [" + values + "]\n";
                });
            default:
                break;
        }
        return {};
    }
    std::string text(const std::vector<std::string>& command, unsigned repeat, unsigned frequency, bool waits) const {
        std::string words;
        for (const std::string& word : command) words += (words.empty() ? "" : ", ") + toml_string(word);
        std::string out = "name = " + toml_string(name) + "\nrepeat = " + std::to_string(repeat) +
                          "\nfrequency = " + std::to_string(frequency) + "\n" + (waits ? "waiting = true\n" : "");
        if (!environment.empty()) out += "[env]\n" + environment;
        if (!sweeps.empty()) out += "[sweep]\n" + sweeps;
        out += "[[scenario]]\nname = " + toml_string(name) + "\ncommand = [" + words + "]\n" + rest;
        if (!load.empty()) out += "load = [\"sh\", \"-c\", " + toml_string(load) + "]\n";
        if (!ready.empty()) out += "ready = { " + ready + " }\n";
        if (!work.empty()) out += "work = { " + work + " }\n";
        return out;
    }

private:
    static void put(std::string& table, const char* key, const std::string& value) {
        table += (table.empty() ? "" : ", ") + std::string(key) + " = " + toml_string(value);
    }
    template <class Put>
    static Result<void> add_pair(const std::string& option, const std::string& value, const Put& put_pair) {
        const std::size_t equals = value.find('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == value.size())
            return Error{option + " " + value + ": has to be NAME=" + (option == "--sweep" ? "1,2,4" : "VALUE")};
        put_pair(value.substr(0, equals), value.substr(equals + 1));
        return {};
    }
};

struct Parsed {
    FileText text;
    std::optional<unsigned> repeat, frequency;
    bool waiting = false;
    bool for_a_file_only = true;  // no option that describes a scenario
    BenchRequest request;
};

Result<void> add(Parsed& parsed, int letter) {
    const std::string value = optarg == nullptr ? "" : optarg;
    if (letter == 'h')
        parsed.request.help = true;
    else if (letter == 'o')
        parsed.request.out = value;
    else if (letter == library)
        parsed.request.library = value;
    else if (letter == waiting)
        parsed.waiting = true;
    else if (letter == 'r' || letter == 'F') {
        const auto number = whole_number(letter == 'r' ? "--repeat" : "--freq", value, letter == 'r' ? 1000 : 20000);
        if (!number) return number.error();
        (letter == 'r' ? parsed.repeat : parsed.frequency) = *number;
    } else {
        parsed.for_a_file_only = false;
        return parsed.text.add(letter, value);
    }
    return {};
}

}  // namespace

Result<BenchRequest> parse_bench_options(int argc, char* argv[]) {
    Parsed parsed;
    optind = 0;
    for (int letter; (letter = getopt_long(argc, argv, "+o:r:F:n:l:w:h", long_options, nullptr)) != -1;) {
        if (letter == '?') return Error{""};  // getopt has said why
        if (auto added = add(parsed, letter); !added) return added.error();
    }
    if (parsed.request.help) return parsed.request;
    const bool command = optind > 0 && optind <= argc && std::string(argv[optind - 1]) == "--";
    if (optind >= argc) return Error{"name a bench file, or a command after --"};
    std::string path = "options";
    Result<BenchFile> file = Error{""};
    if (command) {
        const std::string text = parsed.text.text({argv + optind, argv + argc}, parsed.repeat.value_or(3),
                                                  parsed.frequency.value_or(499), parsed.waiting);
        file = parse_bench_file(text, path);
    } else {
        path = argv[optind];
        // Options may stand behind the file's name too.
        const int at = optind;
        if (at + 1 < argc) {
            optind = at + 1;
            for (int letter; (letter = getopt_long(argc, argv, "+o:r:F:h", long_options, nullptr)) != -1;) {
                if (letter == '?') return Error{""};
                if (auto added = add(parsed, letter); !added) return added.error();
            }
            if (optind < argc)
                return Error{std::string(argv[optind]) + ": one bench file at a time; a command stands after --"};
        }
        if (!parsed.for_a_file_only)
            return Error{
                "with a bench file, scenarios are described in the file (-o, --repeat, --freq, --waiting and --library "
                "go with "
                "one)"};
        file = read_bench_file(path);
    }
    if (!file) return file.error();
    parsed.request.file = std::move(*file);
    if (parsed.repeat) parsed.request.file.repeat = *parsed.repeat;
    if (parsed.frequency) parsed.request.file.frequency = *parsed.frequency;
    if (parsed.waiting) parsed.request.file.waiting = true;
    return parsed.request;
}

}  // namespace flameprobe::bench
