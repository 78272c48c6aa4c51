#include "arguments.hpp"

#include <getopt.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "render/palette.hpp"

namespace flameprobe {

namespace {

enum Option : int {
    top = 256,
    sort,
    by_scope,
    info,
    diff,
    fail_above,
    archive,
    event,
    idle,
    thread,
    scope,
    pid,
    from,
    to,
    min_samples,
    min_rooted,
    max_lost,
    tree,
    title,
    subtitle,
    colors,
    icicle,
    reverse,
    min_width,
    width,
    focus,
    ignore,
    hide,
    no_inline,
    short_names,
    merge_threads,
    pprof_threads,
    debug_dir,
    debuginfod,
    source,
    version,
};

constexpr std::array long_options = {
    option{"output", required_argument, nullptr, 'o'},
    option{"format", required_argument, nullptr, 'f'},
    option{"top", required_argument, nullptr, Option::top},
    option{"sort", required_argument, nullptr, Option::sort},
    option{"by-scope", no_argument, nullptr, Option::by_scope},
    option{"info", no_argument, nullptr, Option::info},
    option{"diff", no_argument, nullptr, Option::diff},
    option{"fail-above", required_argument, nullptr, Option::fail_above},
    option{"archive", no_argument, nullptr, Option::archive},
    option{"event", required_argument, nullptr, Option::event},
    option{"idle", no_argument, nullptr, Option::idle},
    option{"thread", required_argument, nullptr, Option::thread},
    option{"scope", required_argument, nullptr, Option::scope},
    option{"pid", required_argument, nullptr, Option::pid},
    option{"from", required_argument, nullptr, Option::from},
    option{"to", required_argument, nullptr, Option::to},
    option{"min-samples", required_argument, nullptr, Option::min_samples},
    option{"min-rooted", required_argument, nullptr, Option::min_rooted},
    option{"max-lost", required_argument, nullptr, Option::max_lost},
    option{"tree", no_argument, nullptr, Option::tree},
    option{"title", required_argument, nullptr, Option::title},
    option{"subtitle", required_argument, nullptr, Option::subtitle},
    option{"colors", required_argument, nullptr, Option::colors},
    option{"colours", required_argument, nullptr, Option::colors},
    option{"icicle", no_argument, nullptr, Option::icicle},
    option{"reverse", no_argument, nullptr, Option::reverse},
    option{"min-width", required_argument, nullptr, Option::min_width},
    option{"width", required_argument, nullptr, Option::width},
    option{"focus", required_argument, nullptr, Option::focus},
    option{"ignore", required_argument, nullptr, Option::ignore},
    option{"hide", required_argument, nullptr, Option::hide},
    option{"no-inline", no_argument, nullptr, Option::no_inline},
    option{"short-names", no_argument, nullptr, Option::short_names},
    option{"merge-threads", no_argument, nullptr, Option::merge_threads},
    option{"pprof-threads", optional_argument, nullptr, Option::pprof_threads},
    option{"debug-dir", required_argument, nullptr, Option::debug_dir},
    option{"debuginfod", optional_argument, nullptr, Option::debuginfod},
    option{"source", optional_argument, nullptr, Option::source},
    option{"help", no_argument, nullptr, 'h'},
    option{"version", no_argument, nullptr, Option::version},
    option{nullptr, 0, nullptr, 0},
};

/// Collects the first thing that is wrong, so that each option is one line.
class Parser {
public:
    explicit Parser(Arguments& into) : into_(into) {}

    void take(int option, const std::string& value);
    const std::optional<Error>& error() const { return error_; }

private:
    void fail(const std::string& message) {
        if (!error_) error_ = Error{message};
    }
    template <class T>
    void take(const char* name, const Result<T>& result, auto& into) {
        if (result) {
            into = *result;
        } else {
            fail(std::string(name) + ": " + result.error().message);
        }
    }
    template <class Number>
    void number(const char* name, const std::string& text, auto& into) {
        Number value{};
        const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (bad != std::errc{} || end != text.data() + text.size()) {
            return fail(std::string(name) + ": '" + text + "' is not a number from 0 on");
        }
        into = value;
    }
    void percent(const char* name, std::string text, auto& into) {
        if (text.ends_with('%')) text.pop_back();
        number<double>(name, text, into);
    }
    void sort_by(const std::string& text) {
        if (text == "self") {
            into_.sort = SortBy::self;
        } else if (text == "total") {
            into_.sort = SortBy::total;
        } else {
            fail("--sort: '" + text + "' is neither self nor total");
        }
    }
    void pprof_threads(const std::string& text) {
        if (text.empty() || text == "folded") {
            into_.engine.threads = ThreadLabels::folded;
        } else if (text == "exact") {
            into_.engine.threads = ThreadLabels::exact;
        } else {
            fail("--pprof-threads: '" + text + "' is neither folded nor exact");
        }
    }
    void colors(const std::string& name) {
        if (auto palette = Palette::by_name(name); !palette) return fail("--colors: " + palette.error().message);
        into_.graph.colors = name;
    }

    void format(const std::string& name) {
        into_.image = image_by_name(name);
        if (into_.image) return;
        const auto known = format_by_name(name);
        if (!known) return fail("--format: " + known.error().message + ", png, pdf");
        into_.format = *known;
    }
    void expression(const char* name, const std::string& text, std::string& into) {
        if (auto good = check_expression(text); !good) return fail(std::string(name) + ": " + good.error().message);
        into = text;
    }

    Arguments& into_;
    std::optional<Error> error_;
};

void Parser::take(int option, const std::string& value) {
    switch (option) {
        case 'o':
            into_.output = value;
            break;
        case 'f':
            format(value);
            break;
        case Option::top:
            number<std::uint64_t>("--top", value, into_.top);
            break;
        case Option::sort:
            sort_by(value);
            break;
        case Option::by_scope:
            into_.by_scope = true;
            break;
        case Option::info:
            into_.info = true;
            break;
        case Option::diff:
            into_.diff = true;
            break;
        case Option::fail_above:
            percent("--fail-above", value, into_.fail_above);
            break;
        case Option::archive:
            into_.archive = true;
            break;
        case Option::event:
            into_.filter.event = value;
            break;
        case Option::idle:
            into_.filter.idle = true;
            break;
        case Option::thread:
            into_.filter.thread = value;
            break;
        case Option::scope:
            into_.filter.scope = value;
            break;
        case Option::pid:
            number<std::uint32_t>("--pid", value, into_.filter.pid);
            break;
        case Option::from:
            take("--from", parse_time(value), into_.filter.from_ns);
            break;
        case Option::to:
            take("--to", parse_time(value), into_.filter.to_ns);
            break;
        case Option::min_samples:
            take("--min-samples", parse_count(value), into_.gates.min_samples);
            break;
        case Option::min_rooted:
            take("--min-rooted", parse_percentage(value), into_.gates.min_rooted);
            break;
        case Option::max_lost:
            take("--max-lost", parse_percentage(value), into_.gates.max_lost);
            break;
        case Option::tree:
            into_.tree = true;
            break;
        case Option::title:
            into_.graph.title = value;
            break;
        case Option::subtitle:
            into_.graph.subtitle = value;
            break;
        case Option::colors:
            colors(value);
            break;
        case Option::icicle:
            into_.graph.icicle = true;
            break;
        case Option::reverse:
            into_.graph.reverse = true;
            break;
        case Option::min_width:
            percent("--min-width", value, into_.graph.min_width);
            break;
        case Option::pprof_threads:
            pprof_threads(value);
            break;
        case Option::width:
            number<unsigned>("--width", value, into_.graph.width);
            break;
        case Option::focus:
            expression("--focus", value, into_.cut.focus);
            break;
        case Option::ignore:
            expression("--ignore", value, into_.cut.ignore);
            break;
        case Option::hide:
            expression("--hide", value, into_.cut.hide);
            break;
        case Option::no_inline:
            into_.cut.inlined = false;
            break;
        case Option::short_names:
            into_.cut.short_names = true;
            break;
        case Option::merge_threads:
            into_.cut.merge_threads = true;
            break;
        case Option::debug_dir:
            into_.debug_directories.push_back(value);
            break;
        case Option::debuginfod:
            into_.debuginfod = true;
            if (!value.empty()) take("--debuginfod", parse_time(value), into_.debuginfod_ns);
            break;
        case Option::source:
            into_.source = true;
            if (!value.empty()) into_.source_directories.push_back(value);
            break;
        case Option::version:
            into_.version = true;
            break;
        case 'h':
            into_.help = true;
            break;
        default:
            fail("");
            break;  // getopt has said why
    }
}

/// What no single option can know.
std::optional<Error> contradiction(const Arguments& arguments) {
    if (arguments.inputs.empty()) return Error{"name at least one input"};
    if (arguments.diff && arguments.inputs.size() != 2) return Error{"--diff takes two inputs: before and after"};
    if (arguments.tree && (arguments.diff || arguments.archive)) return Error{"--tree makes one picture of its inputs"};
    if (arguments.fail_above && !arguments.diff) return Error{"--fail-above belongs to --diff"};
    if (arguments.source && (arguments.diff || arguments.archive))
        return Error{"--source belongs to a page of one profile"};
    if (arguments.archive && arguments.inputs.size() != 1) return Error{"--archive takes one .fprobe"};
    if (!(arguments.graph.min_width >= 0 && arguments.graph.min_width <= 100)) {
        return Error{"--min-width: give a percentage from 0 to 100"};
    }
    if (arguments.graph.width < 300 || arguments.graph.width > 20'000) {
        return Error{"--width: give 300 to 20000 pixels"};
    }
    if (arguments.fail_above && !(*arguments.fail_above >= 0))
        return Error{"--fail-above: give a percentage from 0 on"};
    const SampleFilter& filter = arguments.filter;
    if (filter.from_ns && filter.to_ns && *filter.from_ns >= *filter.to_ns) return Error{"--from must be before --to"};
    return std::nullopt;
}

}  // namespace

Result<std::uint64_t> parse_time(const std::string& text) {
    struct Unit {
        std::string_view name;
        double ns;
    };
    constexpr std::array units = {Unit{"", 1e9},   Unit{"s", 1e9},  Unit{"ms", 1e6},   Unit{"us", 1e3},
                                  Unit{"ns", 1.0}, Unit{"m", 6e10}, Unit{"min", 6e10}, Unit{"h", 3.6e12}};
    double value = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Unit& known : units) {
        const double ns = value * known.ns;
        if (bad == std::errc{} && unit == known.name && ns >= 0 && ns < 1.8e19) return static_cast<std::uint64_t>(ns);
    }
    return Error{"'" + text + "' is not a time such as 1.5s, 200ms or 2m"};
}

Result<Arguments> parse_arguments(int argc, char* const argv[]) {
    Arguments arguments;
    Parser parser(arguments);
    optind = 0;  // GNU: start afresh, also for a second call
    for (int option; (option = getopt_long(argc, argv, "o:f:h", long_options.data(), nullptr)) != -1;) {
        parser.take(option, optarg != nullptr ? optarg : "");
    }
    arguments.inputs.assign(argv + optind, argv + argc);
    if (parser.error()) return *parser.error();
    if (arguments.help || arguments.version) return arguments;
    if (auto error = contradiction(arguments)) return *error;
    return arguments;
}

}  // namespace flameprobe
