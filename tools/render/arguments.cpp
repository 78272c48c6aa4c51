#include "arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <type_traits>

#include "base/clock.hpp"
#include "render/palette.hpp"
#include "request_sides.hpp"
#include "selection.hpp"

namespace flameprobe {

namespace {

using Text = std::string;

Problem percent(Text text, auto& into) {
    if (text.ends_with('%')) text.pop_back();
    return put_number<double>(text, into);
}

Problem sort_by(Arguments& into, const Text& text) {
    if (text != "self" && text != "total") return "'" + text + "' is neither self nor total";
    into.sort = text == "self" ? SortBy::self : SortBy::total;
    return {};
}

Problem pprof_threads(Arguments& into, const Text& text) {
    if (!text.empty() && text != "folded" && text != "exact") return "'" + text + "' is neither folded nor exact";
    into.server.threads = text == "exact" ? ThreadLabels::exact : ThreadLabels::folded;
    return {};
}

Problem colors(Arguments& into, const Text& name) {
    if (auto palette = Palette::by_name(name); !palette) return palette.error().message;
    into.graph.colors = name;
    return {};
}

Problem format(Arguments& into, const Text& name) {
    into.image = image_by_name(name);
    if (into.image) return {};
    const auto known = format_by_name(name);
    if (!known) return known.error().message + ", png, pdf";
    into.format = *known;
    return {};
}

Problem siblings(Arguments& into, const Text& order) {
    if (order != "name" && order != "weight") return "'" + order + "' is neither name nor weight";
    into.graph.by_weight = order == "weight";
    return {};
}

Problem width(Arguments& into, const Text& text) {
    Problem problem = put_number<unsigned>(text, into.graph.width);
    const bool possible = into.graph.width >= 300 && into.graph.width <= 20'000;
    return problem.empty() && !possible ? "give 300 to 20000 pixels" : problem;
}

/// A picture in a page of text: as wide as GitHub's column, so that labels keep their size. Or a comment, in words.
Problem picture_for(Arguments& into, const Text& place) {
    if (place == "github") {
        into.comment = true;
        return {};
    }
    if (place != "readme") return "'" + place + "' is neither readme nor github";
    into.graph.width = 840;
    into.graph.min_width = 0.5;
    into.graph.brief = true;
    into.cut.merge_threads = true;
    return {};
}

Problem memory(Arguments& into, const Text& text) {
    constexpr std::uint64_t mega = std::uint64_t{1} << 20, giga = mega << 10;
    const auto bytes = quantity_in(text, {{"M", mega}, {"G", giga}}, giga << 10);
    if (!bytes || *bytes == 0) return "'" + text + "' is not a size such as 500M or 16G";
    into.most_memory = *bytes;
    return {};
}

Problem expression(const Text& text, std::string& into) {
    if (auto good = check_expression(text); !good) return good.error().message;
    into = text;
    return {};
}

/// "10ms 50ms".
Problem between(Arguments& into, const Text& text) {
    const std::size_t space = text.find(' ');
    if (space == text.npos) return "give two times, such as 10ms 50ms";
    const auto from = parse_time(text.substr(0, space)), to = parse_time(text.substr(space + 1));
    if (!from || !to) return (from ? to : from).error().message;
    into.between = {*from, *to};
    return {};
}

using A = Arguments;

/// Where a choice of samples goes: that may stand twice.
auto& once_or_twice(auto& first, auto& second) {
    return first == std::remove_cvref_t<decltype(first)>{} ? first : second;
}

std::vector<CommandOption<A>> known_options() {
    constexpr int none = no_argument, value = required_argument, maybe = optional_argument;
    std::vector<CommandOption<A>> options = {
        {"output", value, always([](A& a, const Text& v) { a.output = v; }), 'o'},
        {"format", value, format, 'f'},
        {"top", value, [](A& a, const Text& v) { return put_number<std::uint64_t>(v, a.top); }},
        {"sort", value, sort_by},
        {"by-scope", none, always([](A& a, const Text&) { a.by_scope = true; })},
        {"info", none, always([](A& a, const Text&) { a.info = true; })},
        {"diff", none, always([](A& a, const Text&) { a.diff = true; })},
        {"fail-above", value, [](A& a, const Text& v) { return percent(v, a.fail_above); }},
        {"archive", none, always([](A& a, const Text&) { a.archive = true; })},
        {"requests", value, always([](A& a, const Text& v) {
             a.filter.requests.label = v;
             a.diff = true;
         })},
        {"slowest", value, [](A& a, const Text& v) { return percent(v, a.slowest); }},
        {"between", value, between},
        {"min-samples", value, [](A& a, const Text& v) { return put_number<std::uint64_t>(v, a.gates.min_samples); }},
        {"min-rooted", value, [](A& a, const Text& v) { return put(parse_percentage(v), a.gates.min_rooted); }},
        {"max-lost", value, [](A& a, const Text& v) { return put(parse_percentage(v), a.gates.max_lost); }},
        {"tree", none, always([](A& a, const Text&) { a.tree = true; })},
        {"long-names", none, always([](A& a, const Text&) { a.long_names = true; })},
        {"pprof-threads", maybe, pprof_threads},
        {"max-memory", value, memory},
        {"debug-dir", value, always([](A& a, const Text& v) { a.debug_directories.push_back(v); })},
        {"debuginfod", maybe,
         [](A& a, const Text& v) {
             a.debuginfod = true;
             return v.empty() ? Problem() : put(parse_time(v), a.debuginfod_ns);
         }},
        {"source", maybe, always([](A& a, const Text& v) {
             a.source = true;
             if (!v.empty()) a.source_directories.push_back(v);
         })},
        {"help", none, always([](A& a, const Text&) { a.help = true; }), 'h'},
        {"version", none, always([](A& a, const Text&) { a.version = true; })},
    };
    for (auto* const more : {selection_options, picture_options})
        for (CommandOption<A>& option : more()) options.push_back(std::move(option));
    return options;
}

/// The input that the output would replace; empty if there is none.
std::string replaced_input(const Arguments& arguments) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(arguments.output, none)) return {};
    for (const Text& input : arguments.inputs)
        if (std::filesystem::equivalent(input, arguments.output, none)) return input;
    return {};
}

/// An Error if options contradict each other, or values are out of range.
std::optional<Error> contradiction(const Arguments& arguments) {
    if (arguments.inputs.empty()) return Error{"name at least one input"};
    if (arguments.diff && arguments.inputs.size() > 2)
        return Error{"--diff takes two inputs, before and after: several of a side have commas between"};
    if (const Text why = refused_requests(arguments); !why.empty()) return Error{why};
    if (const Text why = refused_sides(arguments); !why.empty()) return Error{why};
    if (arguments.tree && (arguments.diff || arguments.archive)) return Error{"--tree makes one picture of its inputs"};
    if (arguments.comment && (arguments.diff || arguments.archive || arguments.top || arguments.by_scope))
        return Error{"--for github makes a comment of one profile; flameprobe compare A B -o x.md makes one of two"};
    if (arguments.fail_above && !arguments.diff) return Error{"--fail-above belongs to --diff"};
    if (!arguments.per.empty() && !arguments.diff) return Error{"--per belongs to --diff"};
    if (arguments.source && (arguments.diff || arguments.archive))
        return Error{"--source belongs to a page of one profile"};
    if (arguments.archive && arguments.inputs.size() != 1) return Error{"--archive takes one .fprobe"};
    if (const Text input = arguments.archive ? Text() : replaced_input(arguments); !input.empty())
        return Error{input + " is an input: name another output"};
    if (arguments.fail_above && !(*arguments.fail_above >= 0))
        return Error{"--fail-above: give a percentage from 0 on"};
    const SampleFilter& filter = arguments.filter;
    if (filter.from_ns && filter.to_ns && *filter.from_ns >= *filter.to_ns) return Error{"--from must be before --to"};
    return std::nullopt;
}

}  // namespace

std::vector<CommandOption<Arguments>> selection_options() {
    constexpr int none = no_argument, value = required_argument;
    return {
        {"event", value, always([](A& a, const Text& v) { a.filter.event = v; })},
        {"idle", none, always([](A& a, const Text&) { a.filter.idle = true; })},
        {"thread", value,
         always([](A& a, const Text& v) { once_or_twice(a.filter.thread, a.second.filter.thread) = v; })},
        {"scope", value, always([](A& a, const Text& v) { once_or_twice(a.filter.scope, a.second.filter.scope) = v; })},
        {"pid", value,
         [](A& a, const Text& v) {
             return put_number<std::uint32_t>(v, once_or_twice(a.filter.pid, a.second.filter.pid));
         }},
        {"process", value,
         [](A& a, const Text& v) { return expression(v, once_or_twice(a.process, a.second.process)); }},
        {"from", value,
         [](A& a, const Text& v) {
             return put(parse_time(v), once_or_twice(a.filter.from_ns, a.second.filter.from_ns));
         }},
        {"to", value,
         [](A& a, const Text& v) { return put(parse_time(v), once_or_twice(a.filter.to_ns, a.second.filter.to_ns)); }},
        {"per", value, always([](A& a, const Text& v) { a.per = v; })},
    };
}

std::vector<CommandOption<Arguments>> picture_options() {
    constexpr int none = no_argument, value = required_argument;
    return {
        {"title", value, always([](A& a, const Text& v) { a.graph.title = v; })},
        {"subtitle", value, always([](A& a, const Text& v) { a.graph.subtitle = v; })},
        {"colors", value, colors},
        {"each-thread", none, always([](A& a, const Text&) { a.graph.each_thread = true; })},
        {"icicle", none, always([](A& a, const Text&) { a.graph.icicle = true; })},
        {"reverse", none, always([](A& a, const Text&) { a.graph.reverse = true; })},
        {"min-width", value, [](A& a, const Text& v) { return put(parse_percentage(v), a.graph.min_width); }},
        {"width", value, width},
        {"focus", value, [](A& a, const Text& v) { return expression(v, a.cut.focus); }},
        {"ignore", value, [](A& a, const Text& v) { return expression(v, a.cut.ignore); }},
        {"hide", value, [](A& a, const Text& v) { return expression(v, a.cut.hide); }},
        {"no-inline", none, always([](A& a, const Text&) { a.cut.inlined = false; })},
        {"short-names", none, always([](A& a, const Text&) { a.cut.short_names = true; })},
        {"own-code", none, always([](A& a, const Text&) { a.cut.own_code = true; })},
        {"fold-glue", none, always([](A& a, const Text&) { a.cut.fold_glue = true; })},
        {"unfold", none, always([](A& a, const Text&) { a.graph.every_frame = true; })},
        {"siblings", value, siblings},
        {"for", value, picture_for},
        {"merge-threads", none, always([](A& a, const Text&) { a.cut.merge_threads = true; })},
    };
}

Problem take_option(std::string_view word, Arguments& into) {
    const std::size_t end = std::min(word.find('='), word.size());
    for (const auto& known : known_options())
        if (word.substr(0, end) == "--" + known.name)
            return known.take(into, Text(word.substr(std::min(end + 1, word.size()))));
    return Text(word) + " is no option";
}

Result<std::uint64_t> parse_time(const std::string& text) {
    constexpr std::array units = {
        Unit{"", ns_per_second}, Unit{"s", ns_per_second}, Unit{"ms", ns_per_ms},      Unit{"us", 1000},
        Unit{"ns", 1},           Unit{"m", ns_per_minute}, Unit{"min", ns_per_minute}, Unit{"h", ns_per_hour}};
    double value = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Unit& known : units) {
        const double ns = value * static_cast<double>(known.factor);
        if (bad == std::errc{} && unit == known.name && ns >= 0 && ns < 1.8e19) return static_cast<std::uint64_t>(ns);
    }
    return Error{"'" + text + "' is not a time such as 1.5s, 200ms or 2m"};
}

Result<Arguments> parse_arguments(int argc, char* const argv[]) {
    Arguments arguments;
    const auto options = known_options();
    // An option has one value for getopt_long(3): the two of --between become one.
    std::vector<Text> words(argv, argv + argc);
    for (std::size_t at = 1; at + 2 < words.size(); ++at) {
        if (words[at] != "--between" || !parse_time(words[at + 2])) continue;
        words[at + 1] += " " + words[at + 2];
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(at) + 2);
    }
    std::vector<char*> pointers;
    for (Text& word : words) pointers.push_back(word.data());
    const int count = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
    const auto first = take_options<Arguments>(count, pointers.data(), options, arguments);
    if (!first) return first.error();
    arguments.inputs.assign(pointers.begin() + *first, pointers.begin() + count);
    if (arguments.help || arguments.version) return arguments;
    if (auto error = contradiction(arguments)) return *error;
    return arguments;
}

}  // namespace flameprobe
